/** Git, called by its arguments, in a clean environment and within bounds. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { type RepoProtocol, SAFE_PROTOCOLS } from '../../core/workspace/repo-address.ts';
import type { Timers } from '../../core/world.ts';
import type { GitAccess } from './git-access.ts';
import { type GitEnd, type GitInput, runGitProcess } from './git-process.ts';
import { cleanEnvironment, neutralised, scrubbed, settingArguments } from './git-settings.ts';

export interface GitCaps {
  /** Of what a fetch brings, and of any file that git writes. */
  readonly maxBytes: number;
  /** Of all files of a commit together, as they are checked out. */
  readonly maxTreeBytes: number;
  readonly maxFiles: number;
  /** For one call that asks another host. */
  readonly fetchMs: number;
  /** For one call on this host. */
  readonly localMs: number;
}

export const DEFAULT_CAPS: GitCaps = {
  maxBytes: 2 * 1024 ** 3,
  maxTreeBytes: 4 * 1024 ** 3,
  maxFiles: 200_000,
  fetchMs: 10 * 60_000,
  localMs: 2 * 60_000,
};

export interface GitOptions {
  /** A folder of ours: an empty home lies in it. */
  readonly folder: string;
  readonly timers: Timers;
  readonly protocols?: readonly RepoProtocol[] | undefined;
  readonly caps?: Partial<GitCaps> | undefined;
  /** Where git and ssh are found. */
  readonly path?: string | undefined;
}

export interface GitCall {
  /** The folder of the repository's own files; git looks for none by itself. */
  readonly dir?: string | undefined;
  /** The folder of the files that are checked out. */
  readonly work?: string | undefined;
  readonly input?: GitInput | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly maxOutput?: number | undefined;
  /** With whom it may speak, and how it shows who it is. Without it, it speaks with nobody. */
  readonly access?: GitAccess | undefined;
  /** It reads another repository on this disk. */
  readonly local?: boolean | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Ends that are answers, not failures. */
  readonly codes?: readonly number[] | undefined;
  /** More than it says is cut off instead of refused. */
  readonly cut?: boolean | undefined;
}

export interface GitAnswer {
  readonly code: number;
  readonly out: string;
  readonly bytes: Buffer;
  readonly truncated: boolean;
}

const MOST_OUTPUT = 16 * 1024 * 1024;
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin';

export class Git {
  readonly caps: GitCaps;
  readonly timers: Timers;
  readonly folder: string;
  readonly protocols: readonly RepoProtocol[];
  readonly #home: string;
  readonly #path: string;
  #ready: Promise<unknown> | undefined;

  constructor(options: GitOptions) {
    this.caps = { ...DEFAULT_CAPS, ...options.caps };
    this.timers = options.timers;
    this.folder = options.folder;
    this.protocols = options.protocols ?? SAFE_PROTOCOLS;
    this.#home = join(options.folder, 'home');
    this.#path = options.path ?? SYSTEM_PATH;
  }

  /** Runs it and answers what it has said. Whatever else it does is `WORKSPACE_FAILED`, and tells no secret. */
  async run(args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
    const end = await this.#start(args, call);
    if (end.stopped === 'aborted')
      throw call.signal?.reason ?? fault('WORKSPACE_FAILED', { problem: 'it was stopped' });
    const known = end.code !== null && (end.code === 0 || (call.codes ?? []).includes(end.code));
    const truncated = end.stopped === 'output';
    if (end.stopped !== 'timeout' && (known || (truncated && call.cut === true)))
      return { code: end.code ?? 0, bytes: end.stdout, out: end.stdout.toString('utf8'), truncated };
    throw this.#failure(args, call, end);
  }

  /** What it says, without the newline at its end. */
  async line(args: readonly string[], call: GitCall = {}): Promise<string> {
    return (await this.run(args, call)).out.replace(/\n$/, '');
  }

  async #start(args: readonly string[], call: GitCall): Promise<GitEnd> {
    this.#ready ??= mkdir(this.#home, { recursive: true, mode: 0o700 });
    await this.#ready;
    const dialling = await call.access?.dial?.();
    const env = { ...cleanEnvironment(this.#home, this.#path), ...call.access?.env, ...dialling?.env, ...call.env };
    const where = [
      ...(call.dir === undefined ? [] : [`--git-dir=${call.dir}`]),
      ...(call.work === undefined ? [] : [`--work-tree=${call.work}`]),
    ];
    const protocols = call.access === undefined ? [] : this.protocols;
    const own = Object.entries(dialling?.settings ?? {}).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    const common = ['--no-pager', ...settingArguments(protocols, call.local === true), ...own, ...where];
    const process = {
      cwd: call.work ?? call.dir ?? this.#home,
      maxFileBytes: this.caps.maxBytes,
      maxOutput: call.maxOutput ?? MOST_OUTPUT,
      timeoutMs: call.access === undefined ? this.caps.localMs : this.caps.fetchMs,
      timers: this.timers,
      signal: call.signal,
    };
    if (call.dir === undefined)
      return runGitProcess({ ...process, input: call.input, env, args: [...common, ...args] });
    // Reading settings starts no program; only then is it known which programs they name. Where not all of them were read, nothing else is done.
    const list = [...common, 'config', '--list', '--name-only', '-z'];
    const read = await runGitProcess({ ...process, maxOutput: MOST_OUTPUT, env, args: list });
    if (read.stopped === 'output')
      throw fault('WORKSPACE_FAILED', { problem: 'the repository has more settings than are read' });
    if (read.stopped !== undefined || read.code !== 0) return { ...read, stdout: Buffer.alloc(0) };
    const settings = neutralised(read.stdout.toString('utf8').split('\0'));
    return runGitProcess({ ...process, input: call.input, env: { ...env, ...settings }, args: [...common, ...args] });
  }

  #failure(args: readonly string[], { access }: GitCall, end: GitEnd): Error {
    const said = scrubbed(end.stderr.toString('utf8'), access?.secrets ?? [])
      .split('\n')
      .filter((line) => /^(?:fatal|error|remote|ssh):?/i.test(line) || !/^(?:hint|warning):|^\s*$/.test(line))
      .slice(-3)
      .join('; ');
    const verb = args.find((arg) => !arg.startsWith('-')) ?? 'git';
    const problem =
      STOPPED[end.stopped ?? (isOverFile(end) ? 'file' : 'end')] ??
      `${said === '' ? `it ended with ${end.code ?? end.killed}` : said}`;
    return fault('WORKSPACE_FAILED', { problem: `git ${verb}: ${problem}` });
  }
}

const STOPPED: Readonly<Record<string, string | undefined>> = {
  output: 'it said more than is read',
  timeout: 'it took longer than it may',
  file: 'more came than this worker takes',
};

/** A process that writes past its bound is ended by SIGXFSZ; git tells of its child, or writes an error if the signal is ignored. */
function isOverFile({ killed, stderr }: GitEnd): boolean {
  return killed === 'SIGXFSZ' || /signal 25|signal 31|File too large|file size limit/i.test(stderr.toString('utf8'));
}
