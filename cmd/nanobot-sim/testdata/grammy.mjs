// A bot for Telegram with grammY: it repeats what people write, under a button.
// node grammy.mjs FOLDER-WITH-NODE_MODULES API TOKEN
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, apiRoot, token] = process.argv.slice(2);
const { Bot, InlineKeyboard } = createRequire(join(folder, "x.js"))("grammy");
const bot = new Bot(token, { client: { apiRoot } });
bot.on("message:text", (c) =>
  c.reply(`<b>${c.from.first_name}</b> said ${c.msg.text}`, {
    parse_mode: "HTML",
    reply_markup: new InlineKeyboard().text("Yes", "y"),
  }),
);
bot.on("callback_query:data", async (c) => {
  await c.answerCallbackQuery("thanks");
  await c.editMessageText(`you chose ${c.callbackQuery.data}`);
});
await bot.start();
