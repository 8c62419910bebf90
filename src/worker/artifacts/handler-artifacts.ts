import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import type { Artifact } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';
import { contentOf } from './artifact-file.ts';
import type { ArtifactReader } from './attempt-artifacts.ts';
import { spooled } from './spooled.ts';

/** The files of a task: what it leaves behind, and what other tasks of its tree have left. */
export interface TaskArtifacts {
  /**
   * Stores a file under the name: `{ file: path }`, or a text, bytes or a stream. It is visible when this resolves, as a whole, and takes the place of
   * an earlier one of that name. While the place for artifacts is out of reach this waits, and then fails with `ARTIFACT_FAILED`.
   */
  put(name: string, what: ArtifactSource, options?: PutOptions): Promise<Artifact>;
  /** The newest of this name, of this task or of another one that it may read; or one by its id. `NOT_FOUND` otherwise. */
  get(which: string | ArtifactChoice): Promise<FetchedArtifact>;
  /** Of this task, or of another one that it may read; the newest first, at most a thousand. */
  list(task?: string): Promise<readonly Artifact[]>;
}

/** A plain text is the content itself, and no path. */
export type ArtifactSource = { readonly file: string } | string | Uint8Array | Readable;

export interface PutOptions {
  /** The media type; default `text/plain; charset=utf-8` of a text, `application/octet-stream` of all else. */
  readonly type?: string;
}

export type ArtifactChoice = { readonly id: string } | { readonly task: string; readonly name: string };

/** Its bytes come when they are asked for, and are checked before anybody sees one of them. */
export interface FetchedArtifact {
  readonly artifact: Artifact;
  /** A temporary file with it, which goes with the attempt. */
  path(): Promise<string>;
  /** At most 64 MiB. */
  text(): Promise<string>;
  /** The same, read as JSON. */
  json(): Promise<unknown>;
  stream(): Promise<Readable>;
  /** Writes it to this path, which is there only when all of it is; answers the whole path. */
  save(path: string): Promise<string>;
}

const MAX_TEXT_BYTES = 64 * 2 ** 20;

export class HandlerArtifacts implements TaskArtifacts {
  readonly #given: ArtifactReader | undefined;

  constructor(given: ArtifactReader | undefined) {
    this.#given = given;
  }

  async put(name: string, what: ArtifactSource, options: PutOptions = {}): Promise<Artifact> {
    if (typeof name !== 'string') throw refuse('artifact name', 'it must be a text');
    checkKeys('artifact', options, ['type']);
    const reader = this.#reader;
    if (isFile(what)) {
      checkKeys('artifact', what, ['file']);
      const path = resolve(what.file);
      return reader.put({ name, path, type: options.type ?? OCTETS, ...(await contentOf(path)) });
    }
    const { folder, maxBytes } = await reader.room();
    const spool = await spooled(join(folder, randomUUID()), what, maxBytes);
    try {
      const { path, size, sha256 } = spool;
      return await reader.put({
        name,
        path,
        size,
        sha256,
        type: options.type ?? (typeof what === 'string' ? TEXT : OCTETS),
      });
    } finally {
      await spool.remove();
    }
  }

  async get(which: string | ArtifactChoice): Promise<FetchedArtifact> {
    const reader = this.#reader;
    return new Fetched(reader, await reader.find(choiceOf(which)));
  }

  async list(task?: string): Promise<readonly Artifact[]> {
    if (task !== undefined && typeof task !== 'string') throw refuse('task', 'it must be the id of a task');
    return this.#reader.list(task);
  }

  get #reader(): ArtifactReader {
    if (this.#given !== undefined) return this.#given;
    throw fault('UNSUPPORTED', {}, { hint: 'Artifacts need a worker, and this run has none.' });
  }
}

const TEXT = 'text/plain; charset=utf-8';
const OCTETS = 'application/octet-stream';

class Fetched implements FetchedArtifact {
  readonly artifact: Artifact;
  readonly #reader: ArtifactReader;
  #path: Promise<string> | undefined;

  constructor(reader: ArtifactReader, artifact: Artifact) {
    this.#reader = reader;
    this.artifact = artifact;
  }

  path(): Promise<string> {
    // What has failed may be asked for again.
    this.#path ??= this.#fetch().catch((error: unknown) => {
      this.#path = undefined;
      throw error;
    });
    return this.#path;
  }

  async text(): Promise<string> {
    if (this.artifact.size > MAX_TEXT_BYTES)
      throw fault(
        'TOO_LARGE',
        { field: 'artifact', maxBytes: MAX_TEXT_BYTES },
        { hint: 'Read it as a stream, or save it.' },
      );
    return readFile(await this.path(), 'utf8');
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async stream(): Promise<Readable> {
    return createReadStream(await this.path());
  }

  async save(path: string): Promise<string> {
    if (typeof path !== 'string' || path === '') throw refuse('path', 'it must be the path of a file');
    const whole = resolve(path);
    await this.#reader.fetch(this.artifact, whole);
    return whole;
  }

  async #fetch(): Promise<string> {
    const { folder } = await this.#reader.room();
    const path = join(folder, randomUUID());
    await this.#reader.fetch(this.artifact, path);
    return path;
  }
}

function choiceOf(which: string | ArtifactChoice): {
  readonly id?: string;
  readonly name?: string;
  readonly task?: string;
} {
  if (typeof which === 'string') return { name: which };
  const keys = Object.keys(which ?? {})
    .sort()
    .join();
  const { id, task, name } = (which ?? {}) as Readonly<Record<string, unknown>>;
  if (keys === 'id' && typeof id === 'string') return { id };
  if (keys === 'name,task' && typeof task === 'string' && typeof name === 'string') return { task, name };
  throw refuse('artifact', 'ask for it by a name, { id } or { task, name }');
}

function isFile(what: ArtifactSource): what is { readonly file: string } {
  const { file } = (typeof what === 'object' && what !== null ? what : {}) as { readonly file?: unknown };
  return typeof file === 'string' && !(what instanceof Uint8Array) && !(what instanceof Readable);
}

function checkKeys(what: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) throw fault('UNKNOWN_OPTION', { option: `${unknown} of an ${what}` });
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
