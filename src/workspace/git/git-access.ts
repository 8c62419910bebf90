/**
 * How git shows who it is. A password goes through a pipe in a private folder to the small program that git asks; a key of ssh is a file that only its
 * owner reads, for as long as the call takes. Neither is in a URL, an argument or an environment.
 */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CredentialValue, textsOf } from '../../core/credential/value.ts';
import { fault } from '../../core/errors.ts';
import { type Pinned, pinnedSettings } from './host-address.ts';

export interface GitAccess {
  readonly env: Readonly<Record<string, string>>;
  /** Just before it speaks with a host: what is dialled for the name. */
  readonly dial?: (() => Promise<Dialling>) | undefined;
  /** What must not be told. */
  readonly secrets: readonly string[];
  close(): Promise<void>;
}

export interface AccessOptions {
  /** Where private folders are made. */
  readonly folder: string;
  readonly credential?: CredentialValue | undefined;
  /** Keys of hosts for ssh. Undefined: the first key that a host shows is kept in `known_hosts` of the folder, and asked for from then on. */
  readonly knownHosts?: string | undefined;
  /** Undefined: whatever git and ssh find. */
  readonly pin?: (() => Promise<Pinned | undefined>) | undefined;
}

export interface Dialling {
  /** Of git. */
  readonly settings: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** Git asks once for each; it is read again only if the server asks again. */
const COPIES = 4;
/** The smallest pipe that a system makes. */
const PIPE = 4096;

export async function openAccess(options: AccessOptions): Promise<GitAccess> {
  const { credential } = options;
  if (credential === undefined) return { env: {}, dial: dialWith(options), secrets: [], close: async () => {} };
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(options.folder, 'access-'));
  const secrets = textsOf(credential);
  const open: Array<() => Promise<void>> = [];
  const close = async (): Promise<void> => {
    for (const one of open.splice(0)) await one();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await chmod(folder, 0o700);
    const { user, password, key } = partsOf(credential);
    if (key !== undefined) {
      const file = join(folder, 'key');
      await writeFile(file, key.endsWith('\n') ? key : `${key}\n`, { mode: 0o600, flag: 'wx' });
      return { env: {}, dial: dialWith(options, file), secrets, close };
    }
    open.push(await pipeOf(join(folder, 'user'), user), await pipeOf(join(folder, 'password'), password));
    const program = join(folder, 'askpass');
    await writeFile(program, ASKPASS, { mode: 0o700, flag: 'wx' });
    return { env: { GIT_ASKPASS: program }, dial: dialWith(options), secrets, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The shell reads the line itself: no other process ever has it as an argument. */
const ASKPASS = `#!/bin/sh
case "$1" in
  [Uu]sername*) from="\${0%/*}/user" ;;
  *) from="\${0%/*}/password" ;;
esac
IFS= read -r line <"$from" && printf '%s\\n' "$line"
`;

/** A named pipe that holds the line while this process has it open, and is empty once it is not. */
async function pipeOf(path: string, line: string): Promise<() => Promise<void>> {
  await promisify(execFile)('/usr/bin/env', ['mkfifo', '-m', '600', path], { env: { PATH: '/usr/bin:/bin' } });
  // Open for both ways: it waits for no reader, and a write that finds no room fails instead of waiting.
  const pipe = await open(path, constants.O_RDWR | constants.O_NONBLOCK);
  const text = Buffer.from(`${line}\n`);
  for (let copy = 0; copy < COPIES && (copy + 1) * text.length <= PIPE; copy += 1) await pipe.write(text);
  return () => pipe.close();
}

interface Parts {
  readonly user: string;
  readonly password: string;
  readonly key?: string | undefined;
}

/** A text is a token or a private key. Of an object the fields of the usual names are taken. */
function partsOf(credential: CredentialValue): Parts {
  const fields = 'value' in credential ? { value: credential.value } : credential.fields;
  const first = (...names: readonly string[]): string | undefined =>
    names.map((name) => (fields as Record<string, string | undefined>)[name]).find((text) => text !== undefined);
  const key = first('private_key', 'ssh_key', 'key');
  const password = first('password', 'token', 'access_token', 'value');
  if (key !== undefined) return { user: '', password: '', key };
  if (password?.startsWith('-----BEGIN ')) return { user: '', password: '', key: password };
  const user = first('username', 'user') ?? 'git';
  if (password === undefined || `${user}${password}`.includes('\n') || password.length + user.length > PIPE - 2)
    throw fault('WORKSPACE_FAILED', {
      problem: 'the credential of the repository has no password, token or private_key of one line',
    });
  return { user, password };
}

const dialWith = (options: AccessOptions, key?: string) => async (): Promise<Dialling> => {
  const pinned = await options.pin?.();
  return {
    settings: pinned === undefined ? {} : pinnedSettings(pinned),
    env: { GIT_SSH_COMMAND: sshCommand(options, pinned, key) },
  };
};

function sshCommand({ folder, knownHosts }: AccessOptions, pinned: Pinned | undefined, key?: string): string {
  const settings: Readonly<Record<string, string>> = {
    BatchMode: 'yes',
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    IdentityFile: key ?? 'none',
    UserKnownHostsFile: knownHosts ?? join(folder, 'known_hosts'),
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: knownHosts === undefined ? 'accept-new' : 'yes',
    PasswordAuthentication: 'no',
    KbdInteractiveAuthentication: 'no',
    ProxyCommand: 'none',
    PermitLocalCommand: 'no',
    ForwardAgent: 'no',
    ForwardX11: 'no',
    ClearAllForwardings: 'yes',
    ConnectTimeout: '20',
    ...(pinned === undefined ? {} : dialled(pinned)),
  };
  // Git gives this to a shell: our own paths are quoted.
  const options = Object.entries(settings).map(([name, value]) => `-o ${quoted(`${name}=${value}`)}`);
  return ['ssh', '-F', '/dev/null', '-T', ...options].join(' ');
}

/** Keys of hosts are still those of the name. Of several addresses ssh is told the first. */
function dialled({ host, port, addresses: [first = host] }: Pinned): Readonly<Record<string, string>> {
  return { HostName: first, HostKeyAlias: port === 22 ? host : `[${host}]:${port}` };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
