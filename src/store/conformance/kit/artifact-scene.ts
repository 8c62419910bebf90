import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { ArtifactRecord, BeginAnswer, NewArtifact, Store } from '../../store.ts';

/** Short words for what cases do with artifacts. */

type Wish = Partial<Omit<NewArtifact, keyof Lease>>;

let made = 0;

/** An id that no other case has. */
export function newId(): string {
  made += 1;
  return `art_${made.toString(16).padStart(32, '0')}`;
}

export const sha = (digit: string): string => digit.repeat(64);

export function draftOf({ task, attempt }: Lease, wish: Wish = {}): NewArtifact {
  return {
    task,
    attempt,
    id: newId(),
    name: 'out.txt',
    type: 'text/plain',
    kind: 'file',
    size: 10,
    sha256: sha('a'),
    own: false,
    ...wish,
  };
}

/** Begins one that has room. */
export async function begin(store: Store, lease: Lease, wish: Wish = {}): Promise<{ id: string; blob: string }> {
  const item = draftOf(lease, wish);
  const answer: BeginAnswer = await store.artifactBegin(item);
  assert.equal(answer.kind, 'done', JSON.stringify(answer));
  return { id: item.id, blob: (answer as { blob: string }).blob };
}

/** One that is whole. */
export async function leave(store: Store, lease: Lease, wish: Wish = {}): Promise<{ id: string; blob: string }> {
  const begun = await begin(store, lease, wish);
  assert.equal(await end(store, lease, begun.id), 'done');
  return begun;
}

export function end(store: Store, { task, attempt }: Lease, id: string): Promise<'done' | 'lost' | 'unknown'> {
  return store.artifactEnd({ task, attempt, id });
}

export async function allOf(store: Store): Promise<readonly ArtifactRecord[]> {
  return store.artifactList({ limit: 1000 });
}

export async function idsOf(store: Store): Promise<readonly string[]> {
  return (await allOf(store)).map(({ id }) => id);
}
