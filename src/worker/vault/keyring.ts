import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';

/** A place of the system for small secrets, by their names. */
export interface Keyring {
  /** Undefined: it has none of that name. */
  get(name: string): Promise<string | undefined>;
  set(name: string, secret: string): Promise<void>;
  remove(name: string): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A keyring that asks for a password shows a window, which nobody sees on a server. */
const PATIENCE_MS = 5000;
const MOST_BYTES = 4096;

/**
 * The Secret Service of a desktop, through `secret-tool` of libsecret: it takes a secret on its standard input, so that none is ever among
 * arguments. Other systems have no program that does: there it is no keyring.
 */
export function systemKeyring(environment: Environment, program = 'secret-tool'): Keyring {
  const call = (args: readonly string[], input = ''): Promise<Ended> => run(program, args, environment, input);
  const named = (name: string): readonly string[] => ['service', 'leasehold', 'vault', name];
  return {
    async get(name) {
      const { code, output } = await call(['lookup', ...named(name)]);
      return code === 0 && output !== '' ? output : undefined;
    },
    async set(name, secret) {
      const { code } = await call(['store', '--label=Leasehold vault', ...named(name)], secret);
      if (code !== 0) throw new Error(`the keyring does not take a secret (exit status ${code})`);
    },
    async remove(name) {
      await call(['clear', ...named(name)]);
    },
  };
}

/** Why it does not work, found by writing, reading and removing something; undefined: it works. */
export async function problemOf(keyring: Keyring): Promise<string | undefined> {
  const name = `probe-${randomBytes(8).toString('hex')}`;
  const secret = randomBytes(16).toString('hex');
  try {
    await keyring.set(name, secret);
    if ((await keyring.get(name)) !== secret) return 'what was written cannot be read';
    await keyring.remove(name);
    return (await keyring.get(name)) === undefined ? undefined : 'what was written cannot be removed';
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'this host has no secret-tool' : message;
  }
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

async function run(program: string, args: readonly string[], env: Environment, input: string): Promise<Ended> {
  const child = spawn(program, args, { env: { ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
  const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length <= MOST_BYTES) output += text;
  });
  child.stdin.on('error', () => {}).end(input);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (signal !== null) throw new Error('the keyring did not answer in time');
    return { code, output };
  } finally {
    clearTimeout(late);
  }
}
