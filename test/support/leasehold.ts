import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The program as the sources have it, which `npm start` starts. */
export const SOURCE_BIN = join(ROOT, 'bin/leasehold.js');
/** In a tier the one that users have, bundled before: it starts in a quarter of the CPU (../tiers/program.ts). By hand the sources. */
const bundled = process.env['LEASEHOLD_TEST_PROGRAM'];
export const BIN = bundled ?? SOURCE_BIN;
/** What files of tasks import: the library of that program. */
export const LIBRARY: string = new URL(
  bundled === undefined ? '../src/index.ts' : '../dist/index.js',
  pathToFileURL(BIN),
).href;

/** Where a child of chaos is that was bundled with the program. */
export function bundledChild(bin: string, child: string): string {
  return join(bin, '../../dist/children', child.replaceAll('/', '-').replace(/\.ts$/, '.js'));
}

/** The file of a child that is started, by its URL: bundled, where that was done. */
export function childFile(program: URL): string {
  const source = fileURLToPath(program);
  const other = bundled === undefined ? source : bundledChild(bundled, relative(ROOT, source));
  return existsSync(other) ? other : source;
}

/** For programs that import the library by its name, in a clone: the sources of it, where the program is that of the sources. */
export const CONDITIONS: readonly string[] = bundled === undefined ? ['--conditions=@leasehold/source'] : [];

/** Makes a folder like a clone after `npm ci`. Its parts are links: what is compiled once is compiled for all clones. */
export function cloneInto(cwd: string): void {
  for (const part of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, part), join(cwd, part));
  for (const part of ['src', 'node_modules']) symlinkSync(join(ROOT, part), join(cwd, part));
  const program = join(BIN, '../..');
  for (const part of bundled === undefined ? ['bin'] : ['bin', 'dist'])
    symlinkSync(join(program, part), join(cwd, part));
}

/** For nodes of one cluster that have a folder each, as on hosts of their own. */
export const CLUSTER_SECRET = 'c'.repeat(43);

/** A test, or whoever else sees to it that what was begun is ended. */
export interface Ends {
  after(end: () => void): void;
}

/** An empty folder that is gone after the test. */
export function temporaryFolder(t: Ends): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-e2e-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface RunOptions {
  readonly cwd: string;
  readonly command?: string;
  /** Of Node; default `leasehold`. */
  readonly program?: string;
  /** Flags of Node itself. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** In a process group of its own, as a shell would start it. */
  readonly group?: boolean;
  /** As another user of this host, where whoever runs the tests may be that. */
  readonly uid?: number | undefined;
}

/** A real process and what it has said. Nothing here waits for a time: only for output or the end. */
export class Running {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = '';
  stderr = '';
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly #waiting = new Set<() => void>();

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      for (const look of this.#waiting) look();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
  }

  /** Resolves to the match once the output has it; fails when the process ends before. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const found = Promise.withResolvers<RegExpExecArray>();
    const look = (): void => {
      const match = pattern.exec(this.stdout);
      if (match !== null) found.resolve(match);
    };
    this.#waiting.add(look);
    void this.ended.then(({ code, signal }) => {
      look();
      found.reject(new Error(`ended (${code ?? signal}) without ${pattern}:\n${this.stdout}\n${this.stderr}`));
    });
    look();
    try {
      return await found.promise;
    } finally {
      this.#waiting.delete(look);
    }
  }

  async address(): Promise<string> {
    return (await this.says(/http:\/\/[\w.[\]:]+:\d+/))[0];
  }
}

/** Starts `leasehold ARGS` (or another command) with a closed standard input. */
export function run(t: Ends, args: readonly string[], options: RunOptions): Running {
  const { cwd, command = process.execPath, program = BIN, nodeArgs = [], group = false, uid } = options;
  const child = spawn(command, command === process.execPath ? [...nodeArgs, program, ...args] : [...args], {
    cwd,
    detached: group,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: { ...cleanEnvironment(), ...options.env },
  });
  child.stdin.end();
  t.after(() => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    if (group && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  });
  return new Running(child);
}

/** Without the settings of whoever runs the tests. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const ours = ([name]: [string, unknown]): boolean =>
    !/^(LEASEHOLD|APFLOW)_|^(NODE_OPTIONS|NODE_TEST_CONTEXT)$/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(ours));
}
