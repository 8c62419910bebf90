import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CREDENTIAL_NAME } from '../../core/credential/value.ts';
import type { CredentialLevel } from '../../protocol/credential-envelope.ts';
import { keysFrom, keyTextOf, newKeys, type WorkerKeys } from './envelope.ts';
import { privateFolder, removeUnfinished, replaceFile, wipeFile, writeFirst } from './files.ts';
import { seal, unseal } from './sealed.ts';
import type { Kept, Shelf } from './shelf.ts';

/** Who keeps what under which key. */
export interface FolderPlace {
  readonly folder: string;
  readonly worker: string;
  readonly level: CredentialLevel;
  readonly key: Buffer;
  readonly now: number;
}

const KEYS = 'keys.json';
const SIGNER = 'signer.json';
const HELD = 'held';
const TAIL = '.json';

/**
 * A folder with one file for each credential, under a key that lies elsewhere:
 *
 *   keys.json        the key pair of the worker; another one, or one that does not open: nothing is held
 *   signer.json      the key of the cluster. It stays when the pair changes
 *   held/NAME.json   a value and its version; or only the version, once it was removed
 *
 * Each file is replaced whole, and no file depends on another one but on the pair. So it does not matter when this process dies, nor whether
 * a second process writes at the same time: the last writer of a name wins, and what a worker holds is said anew at each connection.
 */
export class FolderShelf implements Shelf {
  readonly level: CredentialLevel;
  readonly keys: WorkerKeys;
  readonly #place: FolderPlace;
  #found: readonly Kept[] = [];
  #signer: string | undefined;

  private constructor(place: FolderPlace, keys: WorkerKeys) {
    this.level = place.level;
    this.keys = keys;
    this.#place = place;
  }

  static async open(place: FolderPlace): Promise<FolderShelf> {
    await privateFolder(place.folder);
    await privateFolder(join(place.folder, HELD));
    for (const folder of [place.folder, join(place.folder, HELD)]) await removeUnfinished(folder, place.now);
    const shelf = new FolderShelf(place, await keysIn(place));
    shelf.#signer = signerIn(await contentOf(join(place.folder, SIGNER)));
    shelf.#found = await shelf.#look();
    return shelf;
  }

  get found(): readonly Kept[] {
    return this.#found;
  }

  get signer(): string | undefined {
    return this.#signer;
  }

  async pin(signer: string): Promise<void> {
    const path = join(this.#place.folder, SIGNER);
    await writeFirst(path, JSON.stringify({ signer }));
    // Another process may have been first.
    this.#signer = signerIn(await contentOf(path));
  }

  async put(name: string, version: number, text: string): Promise<void> {
    const sealed = seal(this.#place.key, this.#about(name, version), text);
    await replaceFile(this.#path(name), JSON.stringify({ v: 1, version, sealed }));
  }

  async remove(name: string, version: number): Promise<void> {
    await replaceFile(this.#path(name), JSON.stringify({ v: 1, version, removed: true }));
  }

  async forget(name: string): Promise<void> {
    await wipeFile(this.#path(name));
  }

  async read(name: string): Promise<string | undefined> {
    return (await this.#opened(name))?.text;
  }

  /** Another process may have overwritten the file between our open and our read: its successor has the name by then. */
  async #opened(name: string): Promise<Opened | undefined> {
    return (await this.#open(name)) ?? (await this.#open(name));
  }

  async #open(name: string): Promise<Opened | undefined> {
    const found = await contentOf(this.#path(name));
    const version = found?.['version'];
    if (found?.['v'] !== 1 || !Number.isSafeInteger(version)) return undefined;
    if (found['removed'] === true) return { version: version as number, text: undefined };
    const text = unseal(this.#place.key, this.#about(name, version as number), found['sealed']);
    return text === undefined ? undefined : { version: version as number, text };
  }

  /** What does not open is of no use to anybody. */
  async #look(): Promise<readonly Kept[]> {
    const kept: Kept[] = [];
    for (const file of await readdir(join(this.#place.folder, HELD))) {
      const name = file.slice(0, -TAIL.length);
      if (!file.endsWith(TAIL) || !CREDENTIAL_NAME.test(name)) continue;
      const found = await this.#opened(name);
      if (found === undefined) await this.forget(name);
      else kept.push({ name, version: found.version, held: found.text !== undefined });
    }
    return kept;
  }

  #path(name: string): string {
    return join(this.#place.folder, HELD, name + TAIL);
  }

  /** It says for which pair as well: with another one nothing is held. */
  #about(name: string, version: number): string {
    return `held|${this.#place.worker}|${this.keys.publicKey}|${name}|${version}`;
  }
}

interface Opened {
  readonly version: number;
  /** Undefined: it was removed. */
  readonly text: string | undefined;
}

/** The pair of this worker, made at its first start. Of two processes that start at once, one makes it. */
async function keysIn({ folder, worker, level, key }: FolderPlace): Promise<WorkerKeys> {
  const path = join(folder, KEYS);
  const about = `keys|${worker}|${level}`;
  const known = async (): Promise<WorkerKeys | undefined> => {
    const text = unseal(key, about, (await contentOf(path))?.['sealed']);
    return text === undefined ? undefined : keysFrom(JSON.parse(text) as { x: string; d: string });
  };
  const before = await known();
  if (before !== undefined) return before;
  const made = newKeys();
  const text = JSON.stringify({ v: 1, level, sealed: seal(key, about, JSON.stringify(keyTextOf(made.privateKey))) });
  if (await writeFirst(path, text)) return made;
  const meanwhile = await known();
  if (meanwhile !== undefined) return meanwhile;
  // It is under a key that is lost, or of another level, or broken: nobody can use it any more.
  await replaceFile(path, text);
  return made;
}

function signerIn(content: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const signer = content?.['signer'];
  return typeof signer === 'string' ? signer : undefined;
}

/** Undefined: it is not there, or not JSON. */
async function contentOf(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
