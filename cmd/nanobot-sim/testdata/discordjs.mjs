// A bot for Discord with discord.js: it repeats what people write, under a button, and has /ask.
// node discordjs.mjs FOLDER-WITH-NODE_MODULES API TOKEN
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, api, token] = process.argv.slice(2);
const { ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, Events, GatewayIntentBits, Partials } =
  createRequire(join(folder, "x.js"))("discord.js");
const client = new Client({
  intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.DirectMessages,
    GatewayIntentBits.MessageContent,
  ],
  partials: [Partials.Channel],
  rest: { api },
});
client.on(Events.MessageCreate, async (m) => {
  if (m.author.bot) return;
  const yes = new ButtonBuilder().setCustomId("y").setLabel("Yes").setStyle(ButtonStyle.Primary);
  await m.channel.send({
    content: `${m.author.username} said ${m.content}`,
    components: [new ActionRowBuilder().addComponents(yes)],
  });
});
client.on(Events.InteractionCreate, async (i) => {
  if (i.isButton()) return i.update(`you chose ${i.customId}`);
  await i.reply("asked");
  await i.editReply("asked again");
  await (await i.followUp("asked twice")).edit("asked thrice");
});
client.once(Events.ClientReady, () => client.application.commands.set([{ name: "ask", description: "asks" }]));
await client.login(token);
