/** Artifacts for programs, on a store or on a node. */
import { Readable } from 'node:stream';
import { isEngineError } from '../../core/errors.ts';
import type { ArtifactFilter } from '../../operate/calls/artifact-calls.ts';
import type { Operator } from '../../operate/operator.ts';
import type { ArtifactView } from '../../operate/views.ts';
import type { SaveOptions } from './save.ts';

export interface ArtifactListOptions extends ArtifactFilter {
  /** Default 100. */
  readonly limit?: number | undefined;
}

/** Files that tasks have left behind. */
export interface AppArtifacts {
  /** The newest first. */
  list(options?: ArtifactListOptions): Promise<readonly ArtifactView[]>;
  /** Undefined: there is none of that id. */
  get(id: string): Promise<ArtifactView | undefined>;
  /** Its bytes. The stream ends well only when all of them are right, and with `ARTIFACT_MISMATCH` otherwise. */
  read(id: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Readable>;
  /** Its bytes into a file, which is there only when all of them are right. A file that is there already is left as it is: `CONFLICT`. */
  save(id: string, path: string, options?: SaveOptions): Promise<ArtifactView>;
  /** Its bytes go a little later. */
  remove(id: string): Promise<void>;
  /** How many there are and how many bytes they take, those that are under way included. */
  usage(): Promise<{ readonly entries: number; readonly bytes: number }>;
}

const DEFAULT_LIMIT = 100;

export class CalledArtifacts implements AppArtifacts {
  readonly #operator: () => Promise<Operator>;

  /** A program that has no artifacts need not load what answers it. */
  constructor(operator: () => Promise<Operator>) {
    this.#operator = operator;
  }

  async list({ limit = DEFAULT_LIMIT, ...filter }: ArtifactListOptions = {}): Promise<readonly ArtifactView[]> {
    const operator = await this.#operator();
    const { listArtifacts } = await import('../../operate/calls/artifact-calls.ts');
    return listArtifacts(operator, filter, limit);
  }

  async get(id: string): Promise<ArtifactView | undefined> {
    try {
      return await (await this.#operator()).call('getArtifact', { params: { id } });
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async read(id: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<Readable> {
    const operator = await this.#operator();
    const artifact = await operator.call('getArtifact', { params: { id } });
    return Readable.from(operator.bytes(artifact, options), { objectMode: false });
  }

  async save(id: string, path: string, options: SaveOptions = {}): Promise<ArtifactView> {
    const operator = await this.#operator();
    const artifact = await operator.call('getArtifact', { params: { id } });
    const { saveBytes } = await import('./save.ts');
    await saveBytes(operator.bytes(artifact, options), path, options);
    return artifact;
  }

  async remove(id: string): Promise<void> {
    await (await this.#operator()).call('removeArtifact', { params: { id } });
  }

  async usage(): Promise<{ readonly entries: number; readonly bytes: number }> {
    return (await this.#operator()).call('artifactUsage');
  }
}
