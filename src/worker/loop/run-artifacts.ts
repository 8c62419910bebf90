/** The files of a run among its artifacts. */
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isEngineError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { Timers } from '../../core/world.ts';
import { artifactName } from '../../flow/loop/files/file-names.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import { spooled } from '../artifacts/spooled.ts';

const MOST_BYTES = 64 * 1024 * 1024;
/** A place that is out of reach is tried for minutes. No phase of a loop waits so long for a file. */
const PATIENCE_MS = 15_000;

export class RunArtifacts {
  readonly #artifacts: ArtifactReader;
  readonly #timers: Timers;

  constructor(artifacts: ArtifactReader, timers: Timers) {
    this.#artifacts = artifacts;
    this.#timers = timers;
  }

  /** Answers where a node gives it out. */
  write(file: string, text: string, type: string): Promise<string> {
    return this.#within(this.#put(file, text, type));
  }

  async #put(file: string, text: string, type: string): Promise<string> {
    const { folder } = await this.#artifacts.room();
    const spool = await spooled(join(folder, randomUUID()), text, MOST_BYTES);
    try {
      const { path, size, sha256 } = spool;
      const { id } = await this.#artifacts.put({ name: artifactName(file), path, size, sha256, type, kind: 'output' });
      return `/api/v1/artifacts/${id}/content`;
    } finally {
      await spool.remove();
    }
  }

  /** Undefined: there is none, or more than this. */
  read(file: string, maxBytes: number): Promise<string | undefined> {
    return this.#within(this.#get(file, maxBytes));
  }

  async #get(file: string, maxBytes: number): Promise<string | undefined> {
    const found = await this.#artifacts.find({ name: artifactName(file) }).catch((error: unknown) => {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    });
    if (found === undefined || found.size > maxBytes) return undefined;
    const { folder } = await this.#artifacts.room();
    const path = join(folder, randomUUID());
    try {
      await this.#artifacts.fetch(found, path);
      return await readFile(path, 'utf8');
    } finally {
      await rm(path, { force: true });
    }
  }

  async #within<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController();
    const late = pause(this.#timers, PATIENCE_MS, { signal: over.signal }).then((): never => {
      throw new Error(`the place of artifacts gave no answer for ${PATIENCE_MS / 1000} s`);
    });
    late.catch(() => {});
    work.catch(() => {});
    try {
      return await Promise.race([work, late]);
    } finally {
      over.abort();
    }
  }
}
