/** Releases of the real worker, and hosts that it is installed on by the script of a node. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { workerBundle } from '../../../build/worker-bundle.ts';
import { signRelease } from '../../../src/app/release/sign-release.ts';
import type { UpdaterState } from '../../../src/core/release/updater.ts';
import { packBundle, unpackBundle } from '../../../src/worker/upgrade/bundle-file.ts';
import { type Ends, ROOT, type Running, run } from '../leasehold.ts';

/** The files of the worker: building them takes long, so a test file does it once. */
export async function workerFiles(): Promise<Readonly<Record<string, string>>> {
  return unpackBundle((await workerBundle('0.1.0')).bundle).files;
}

/** Puts a release into the folder that a node serves. `changes`: files that differ. */
export function putRelease(
  folder: string,
  {
    version,
    files,
    keyFile,
    changes = {},
  }: {
    readonly version: string;
    readonly files: Readonly<Record<string, string>>;
    readonly keyFile: string | undefined;
    readonly changes?: Readonly<Record<string, string>>;
  },
): void {
  mkdirSync(folder, { recursive: true });
  const described = JSON.stringify({ name: 'leasehold', version, type: 'module', private: true });
  const bundle = packBundle({ version, files: { ...files, 'package.json': described, ...changes } });
  writeFileSync(join(folder, 'worker.bundle'), bundle);
  signRelease(folder, { keyFile, now: Date.now() });
}

/** A user of this host who is nobody else, where the tests may be that user and it may start our Node. */
export function anotherUser(): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { status } = spawnSync(process.execPath, ['--version'], { uid: NOBODY, gid: NOBODY, cwd: '/' });
  return status === 0 ? NOBODY : undefined;
}

const NOBODY = 65_534;

/** Another home, as another user or another host has it. */
export class Host {
  readonly prefix: string;
  readonly #t: Ends;
  readonly #home: string;
  readonly #uid: number | undefined;

  /** `uid`: whose home it is, and who runs there. All may go through the folder that it is in. */
  constructor(t: Ends, home: string, uid?: number) {
    mkdirSync(home, { recursive: true });
    if (uid !== undefined) {
      chmodSync(dirname(home), 0o711);
      chownSync(home, uid, uid);
    }
    this.#uid = uid;
    this.#t = t;
    this.#home = home;
    this.prefix = join(home, '.leasehold-worker');
  }

  /** Runs the text of a script by a shell, as `curl … | sh -s -- ARGS` does. */
  async install(
    script: string,
    args: readonly string[],
    options: { readonly shell?: string; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const { shell = 'sh', env = {} } = options;
    const child = spawn(shell, ['-s', '--', ...args], {
      cwd: this.#home,
      env: { PATH: process.env.PATH ?? '', HOME: this.#home, ...env },
      // Of its own session: the test has a terminal, perhaps, and this host has none.
      detached: true,
      ...(this.#uid === undefined ? {} : { uid: this.#uid, gid: this.#uid }),
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin.on('error', () => {});
    child.stdin.end(script);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, stdout, stderr };
  }

  codeFile(code: string): string {
    const file = join(this.#home, 'code');
    writeFileSync(file, `${code}\n`, { mode: 0o600 });
    if (this.#uid !== undefined) chownSync(file, this.#uid, this.#uid);
    return file;
  }

  /** Other times and arguments than the script has written. */
  configure(change: Readonly<Record<string, unknown>>): void {
    const file = join(this.prefix, 'install.json');
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...change }));
  }

  state(): UpdaterState {
    return JSON.parse(readFileSync(join(this.prefix, 'updater.json'), 'utf8')) as UpdaterState;
  }

  start(): Running {
    const running = run(this.#t, [], {
      cwd: this.#home,
      program: join(this.prefix, 'updater.js'),
      env: { HOME: this.#home },
      uid: this.#uid,
    });
    return running;
  }
}

export const INSTALL_SCRIPT = readFileSync(join(ROOT, 'src/server/release/install.sh'), 'utf8');

export function assertInstalled(found: { readonly code: number | null; readonly stderr: string }): void {
  assert.equal(found.code, 0, found.stderr);
}
