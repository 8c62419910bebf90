/** A real sshd on loopback that lets in the user who runs the test, with a key made for it. Gone with its test, whatever ends that. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Ends } from '../leasehold.ts';
import { watchdog } from '../postgres.ts';

export interface Sshd {
  readonly port: number;
  readonly user: string;
  /** The private key that it lets in, and the file with its own. */
  readonly identity: string;
  readonly knownHosts: string;
}

/** Why there is none; false: there is one. Debian puts it where only root looks. */
export function noSshd(): string | false {
  if (findSshd() === undefined) return 'there is no sshd: install openssh-server';
  return findIn('ssh') === undefined ? 'there is no ssh: install openssh-client' : false;
}

export async function startSshd(t: Ends, folder: string): Promise<Sshd> {
  const program = findSshd();
  if (program === undefined) throw new Error('there is no sshd');
  const key = (name: string): string => {
    const path = join(folder, name);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path]);
    return path;
  };
  const [host, identity] = [key('host'), key('identity')];
  const port = await freePort();
  const { username: user } = userInfo();
  writeFileSync(join(folder, 'authorized'), readFileSync(`${identity}.pub`));
  const [type = '', text = ''] = readFileSync(`${host}.pub`, 'utf8').split(' ');
  const knownHosts = join(folder, 'known');
  writeFileSync(knownHosts, `[127.0.0.1]:${port} ${type} ${text}\n`);
  const config = `ListenAddress 127.0.0.1
Port ${port}
HostKey ${host}
AuthorizedKeysFile ${join(folder, 'authorized')}
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
`;
  writeFileSync(join(folder, 'sshd_config'), config);
  // Where it confines what it does not trust yet; a package makes it, a container may have lost it.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const child = spawn(program, ['-D', '-e', '-f', join(folder, 'sshd_config')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const guard = watchdog(`kill -KILL ${child.pid}`);
  t.after(() => {
    guard.kill('SIGKILL');
    child.kill('SIGKILL');
  });
  await listens(child.stderr);
  return { port, user, identity, knownHosts };
}

async function listens(output: NodeJS.ReadableStream): Promise<void> {
  let log = '';
  for await (const chunk of output) {
    log += String(chunk);
    if (log.includes('Server listening')) break;
  }
  if (!log.includes('Server listening')) throw new Error(`sshd ended:\n${log}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export function findSshd(): string | undefined {
  return findIn('sshd', ['/usr/sbin', '/usr/local/sbin']);
}

function findIn(program: string, more: readonly string[] = []): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...more];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}
