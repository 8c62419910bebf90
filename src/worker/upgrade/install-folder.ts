import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { isReleaseKey } from '../../core/release/manifest.ts';
import { checkReleaseVersion, isReleaseVersion } from '../../core/release/release-version.ts';
import type { UpdaterState } from '../../core/release/updater.ts';
import { type Bundle, STARTS } from './bundle-file.ts';

/** What the installer has written down. Whoever owns the host may change it; no node can. */
export interface Install {
  /** Addresses of nodes. */
  readonly urls: readonly string[];
  /** The public keys whose releases are taken. */
  readonly keys: readonly string[];
  /** Releases without a signature are taken. */
  readonly unsigned?: boolean | undefined;
  /** Further arguments of `leasehold worker`. */
  readonly arguments?: readonly string[] | undefined;
  /** Other times than usual, in milliseconds. */
  readonly terms?: Partial<InstallTerms> | undefined;
}

export interface InstallTerms {
  /** A new release has to connect within this time, */
  readonly connectMs: number;
  /** and then run for this long. */
  readonly proveMs: number;
  readonly retryMs: number;
  readonly pinMs: number;
}

const STATE = 'updater.json';

/**
 * The folder of an installed worker: `install.json`, `updater.json` (which release runs), `updater.js`, `releases/VERSION/…`, and `data/`,
 * which is the worker's own. A file is written beside its place and renamed, so that a crash leaves the old one or the new one.
 */
export class InstallFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get stateFile(): string {
    return join(this.path, STATE);
  }

  get data(): string {
    return join(this.path, 'data');
  }

  install(): Install {
    const {
      urls,
      keys,
      unsigned,
      arguments: more = [],
      terms,
    } = readObject(join(this.path, 'install.json')) as unknown as Install;
    const areWords = [urls, keys, more].every(
      (list) => Array.isArray(list) && list.every((one) => typeof one === 'string'),
    );
    if (!areWords || urls.length === 0 || !keys.every(isReleaseKey))
      throw fault('INVALID_INPUT', { field: 'install.json', problem: 'it does not say whom the worker works for' });
    return { urls, keys, unsigned: unsigned === true, arguments: more, terms };
  }

  state(): UpdaterState {
    return readState(this.stateFile);
  }

  write(state: UpdaterState): void {
    replaceFile(this.stateFile, `${JSON.stringify(state)}\n`, 0o600);
  }

  program(version: string): string {
    return join(this.path, 'releases', checkReleaseVersion('version', version), STARTS);
  }

  /** The release is there whole, or not at all. One that was left by a crash is replaced. */
  unpack({ version, files }: Bundle): void {
    const releases = join(this.path, 'releases');
    const whole = join(releases, checkReleaseVersion('version', version));
    const part = join(releases, `.${version}.${process.pid}`);
    rmSync(part, { recursive: true, force: true });
    for (const [path, text] of Object.entries(files)) {
      const file = join(part, path);
      mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
      writeSynced(file, text, 0o644);
    }
    rmSync(whole, { recursive: true, force: true });
    renameSync(part, whole);
    syncFolder(releases);
  }

  /** Removes what neither runs nor can be gone back to. */
  prune(keep: readonly string[]): void {
    const releases = join(this.path, 'releases');
    for (const name of readdirSync(releases)) {
      const isOurs = isReleaseVersion(name.replace(/^\.(.*)\.\d+$/, '$1'));
      if (isOurs && !keep.includes(name)) rmSync(join(releases, name), { recursive: true, force: true });
    }
  }
}

/** What an updater has written. Throws where it is not that. */
export function readState(file: string): UpdaterState {
  const state = readObject(file) as unknown as UpdaterState;
  const versions = [
    state.version,
    state.newest,
    state.floor,
    ...(state.trial === undefined ? [] : [state.trial.previous]),
  ];
  if (versions.every(isReleaseVersion) && Number.isInteger(state.failures)) return state;
  throw fault('INVALID_INPUT', { field: STATE, problem: 'it does not say which release runs' });
}

function readObject(file: string): Record<string, unknown> {
  const given: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof given === 'object' && given !== null) return given as Record<string, unknown>;
  throw fault('INVALID_INPUT', { field: file, problem: 'it is not an object' });
}

export function replaceFile(file: string, text: string, mode: number): void {
  const part = `${file}.${process.pid}`;
  rmSync(part, { force: true });
  writeSynced(part, text, mode);
  renameSync(part, file);
  syncFolder(dirname(file));
}

function writeSynced(file: string, text: string, mode: number): void {
  const opened = openSync(file, 'wx', mode);
  try {
    writeFileSync(opened, text);
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
