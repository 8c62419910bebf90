import { constants, type Dirent } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

/** What is sent for an address. */
export interface StaticFile {
  readonly body: Buffer;
  readonly type: string;
  readonly encoding: 'br' | 'gzip' | undefined;
  /** Its name says what is in it, so that it never changes. */
  readonly lasting: boolean;
}

interface FileEntry {
  readonly path: string;
  readonly type: string;
  readonly lasting: boolean;
  /** As it lies beside itself, made small. */
  readonly br: boolean;
  readonly gz: boolean;
}

/** Whatever is not here is no part of a page, and is not sent. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};
const INDEX = 'index.html';
/** As bundlers name what they have hashed: `assets/index-DkP3x9aQ.js`. */
const HASHED = /^assets\/.*[-.][\w-]{8,}\.\w+$/;
/** More than that is no web page, but somebody's disk. */
const MOST_FILES = 5000;

/**
 * The files of one folder, by their names. What can be asked for is what a walk through the folder has found: no name that
 * somebody sends is ever made into a path, and links are not followed.
 */
export class StaticFiles {
  readonly #folder: () => string | undefined;
  #known: ReadonlyMap<string, FileEntry> = new Map();
  /** By what the folder was when it was walked through: a build puts another one there. */
  #stamp = '';

  /** `folder` is asked each time: it may be built while the node runs. */
  constructor(folder: () => string | undefined) {
    this.#folder = folder;
  }

  /** Undefined: there is no such file; of a page without a file name its index is sent. */
  async find(name: string, accepts: string): Promise<StaticFile | undefined> {
    const folder = this.#folder();
    if (folder === undefined) return undefined;
    await this.#refresh(folder);
    const known = this.#known.get(name) ?? (name.startsWith('assets/') ? undefined : this.#known.get(INDEX));
    if (known === undefined) return undefined;
    const encoding = known.br && takes(accepts, 'br') ? 'br' : known.gz && takes(accepts, 'gzip') ? 'gzip' : undefined;
    const ending = encoding === undefined ? '' : encoding === 'br' ? '.br' : '.gz';
    const body = await readPlain(join(folder, known.path) + ending);
    return body && { body, encoding, type: known.type, lasting: known.lasting };
  }

  async #refresh(folder: string): Promise<void> {
    const index = await stat(join(folder, INDEX)).catch(() => undefined);
    const stamp = `${folder} ${index?.mtimeMs} ${index?.size}`;
    if (stamp === this.#stamp) return;
    this.#known = await walk(folder);
    this.#stamp = stamp;
  }
}

async function walk(folder: string): Promise<ReadonlyMap<string, FileEntry>> {
  const entries: Dirent[] = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  // A link is neither a file nor a folder here.
  const files = entries.filter((entry) => entry.isFile()).slice(0, MOST_FILES);
  const names = new Set(
    files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll(sep, '/')),
  );
  const known = new Map<string, FileEntry>();
  for (const path of names) {
    const type = TYPES[extname(path).toLowerCase()];
    if (type === undefined) continue;
    known.set(path, {
      path,
      type,
      lasting: HASHED.test(path),
      br: names.has(`${path}.br`),
      gz: names.has(`${path}.gz`),
    });
  }
  return known;
}

/** What is a link by now is not read either. */
async function readPlain(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    return await file.readFile();
  } catch {
    return undefined;
  }
}

/** Whether a browser takes this encoding; `br;q=0` says that it does not. */
function takes(accepts: string, encoding: string): boolean {
  return accepts.split(',').some((one) => {
    const [name, ...more] = one.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && !more.some((part) => /^q=0(\.0*)?$/.test(part));
  });
}
