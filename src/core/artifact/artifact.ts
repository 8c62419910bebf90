/**
 * Files that tasks leave behind. Their bytes lie in a blob store, under the hash of their content; the store of tasks says which
 * of them count. An artifact is begun before its bytes travel and is whole once they have arrived: nobody sees it before.
 */

/** Whole bytes, known before they travel. */
export interface Content {
  readonly size: number;
  /** SHA-256, 64 small hex digits. */
  readonly sha256: string;
}

/**
 * `file`: what a handler has left. `log`, `output`: what a step said, archived. `result`: a result that was too large for its row. `diff`, `bundle`:
 * what a workspace has changed, and its commits.
 */
export type ArtifactKind = 'file' | 'log' | 'output' | 'result' | 'diff' | 'bundle';

/** An artifact as people and programs see it. */
export interface Artifact extends Content {
  /** `art_` and 32 hex digits, drawn by chance: knowing one is no right to read it. */
  readonly id: string;
  /** The number of its task. */
  readonly task: number;
  readonly attempt: number;
  /** Segments with `/` between, unique within the task: the newest whole one counts. Never a path on any disk of ours. */
  readonly name: string;
  /** The media type that its maker says it has. */
  readonly type: string;
  readonly kind: ArtifactKind;
  readonly createdAt: number;
}
