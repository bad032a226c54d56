// Says how it is in the sandbox of a unit. Node makes code as it runs, or it would not be here.
const fs = require('fs'), os = require('os'), dns = require('dns')

function can (path) {
  try { fs.writeFileSync(path, 'x'); return 'written' } catch { return 'not written' }
}

const envelope = JSON.parse(fs.readFileSync(0, 'utf8').split('\n')[0])
const secrets = Object.keys(process.env).filter(n => /^(NOTIFY_|WATCHDOG_|CREDENTIALS_|NANOBOT_CHANNELS)/.test(n))
dns.lookup('localhost', err => {
  console.log(JSON.stringify({ type: 'message', text: [
    'workspace: ' + can(envelope.user_data_dir + '/x'),
    'system: ' + can('/etc/x'),
    'secrets in the environment: ' + (secrets.join(', ') || 'none'),
    'root: ' + (process.getuid() === 0 ? 'yes' : 'no'),
    'cores: ' + (os.cpus().length ? 'some' : 'none'),
    'network: ' + (err ? err.code : Object.keys(os.networkInterfaces()).length ? 'yes' : 'no interfaces'),
    'code as it runs: ' + (new Function('return "yes"'))()].join(', ') }))
})
