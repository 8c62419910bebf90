import { constants, type Dirent } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

/** The content of a file, ready to send. */
export interface StaticFile {
  readonly body: Buffer;
  readonly type: string;
  readonly encoding: 'br' | 'gzip' | undefined;
  /** Its name contains a hash of its content, so it never changes. */
  readonly lasting: boolean;
}

interface FileEntry {
  readonly path: string;
  readonly type: string;
  readonly lasting: boolean;
  /** A compressed copy lies beside it. */
  readonly br: boolean;
  readonly gz: boolean;
}

/** Files of any other type are not sent. */
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
/** The names of hashed files, as bundlers make them: `assets/index-DkP3x9aQ.js`. */
const HASHED = /^assets\/.*[-.][\w-]{8,}\.\w+$/;
/** A folder with more files is not a web UI. */
const MOST_FILES = 5000;

/**
 * The files of one folder, by name. Only files that a walk through the folder has found are served: no requested name
 * becomes a path, and links are not followed.
 */
export class StaticFiles {
  readonly #folder: () => string | undefined;
  #known: ReadonlyMap<string, FileEntry> = new Map();
  /** Identifies the walked folder: a build replaces it. */
  #stamp = '';

  /** `folder` is called each time, because the UI may be built while the node runs. */
  constructor(folder: () => string | undefined) {
    this.#folder = folder;
  }

  /** Undefined: there is no such file. Names without a file get the index. */
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

/** Does not follow a file that has become a link meanwhile. */
async function readPlain(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    return await file.readFile();
  } catch {
    return undefined;
  }
}

/** Whether a browser accepts this encoding; `br;q=0` says no. */
function takes(accepts: string, encoding: string): boolean {
  return accepts.split(',').some((one) => {
    const [name, ...more] = one.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && !more.some((part) => /^q=0(\.0*)?$/.test(part));
  });
}
