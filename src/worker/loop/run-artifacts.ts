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
  #isAway = false;

  constructor(artifacts: ArtifactReader, timers: Timers) {
    this.#artifacts = artifacts;
    this.#timers = timers;
  }

  /** The place is asked again. After it gave no answer it is left alone until then: files of one phase do not wait one after the other. */
  tryAgain(): void {
    this.#isAway = false;
  }

  /** Answers where a node gives it out. */
  write(file: string, text: string, type: string): Promise<string> {
    return this.#within(() => this.#put(file, text, type));
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
    return this.#within(() => this.#get(file, maxBytes));
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

  async #within<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#isAway) throw gone();
    const over = new AbortController();
    const late = pause(this.#timers, PATIENCE_MS, { signal: over.signal }).then((): never => {
      if (!over.signal.aborted) this.#isAway = true;
      throw gone();
    });
    late.catch(() => {});
    const work = begin();
    work.catch(() => {});
    try {
      return await Promise.race([work, late]);
    } finally {
      over.abort();
    }
  }
}

const gone = (): Error => new Error(`the place of artifacts gave no answer for ${PATIENCE_MS / 1000} s`);
