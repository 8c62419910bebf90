import type { Client } from '../client/client.ts';
import { fault } from '../core/errors.ts';
import type { CancelAct, RetryAct, TreeOptions } from '../engine/subtrees.ts';
import type { CancelAnswer } from '../store/store.ts';
import type { AppTree } from './leasehold.ts';

/** A tree may have a hundred thousand tasks. */
const TREE_MS = 600_000;

export async function cancelOne(client: Client, id: string): Promise<CancelAnswer> {
  const { tasks } = await client.call('cancelTask', { params: { id }, body: {} });
  return (tasks[0] as { readonly act: CancelAnswer }).act;
}

export async function retryOne(client: Client, id: string): Promise<void> {
  const { tasks } = await client.call('retryTask', { params: { id }, body: {} });
  const [{ act, state }] = tasks as [(typeof tasks)[number]];
  if (act !== 'again') throw fault('ILLEGAL_TRANSITION', { kind: 'task', from: state, to: 'ready' });
}

export async function cancelTree(client: Client, id: string, options: TreeOptions): Promise<AppTree<CancelAct>> {
  return treeOf<CancelAct>(CANCELLED, await client.call('cancelTask', askOf(id, options)), options);
}

export async function retryTree(client: Client, id: string, options: TreeOptions): Promise<AppTree<RetryAct>> {
  return treeOf<RetryAct>(RETRIED, await client.call('retryTask', askOf(id, options)), options);
}

function askOf(id: string, { dryRun = false, signal }: TreeOptions) {
  return { params: { id }, body: { tree: true, dryRun }, signal, timeoutMs: TREE_MS };
}

/** Of what there is none the node may say nothing. */
const CANCELLED = { cancelled: 0, requested: 0, finished: 0 };
const RETRIED = { again: 0, kept: 0, unfinished: 0, blocked: 0 };

interface Tree<Act extends string> extends Omit<AppTree<Act>, 'counts'> {
  readonly counts: Partial<Record<Act, number>>;
}

function treeOf<Act extends string>(
  none: Record<Act, number>,
  { tasks, counts, dryRun }: Tree<Act>,
  { onProgress }: TreeOptions,
): AppTree<Act> {
  // The node does it in one call, and tells of no steps between.
  onProgress?.({ found: tasks.length, done: dryRun ? 0 : tasks.length });
  return {
    tasks: tasks.map(({ id, queue, handler, state, act }) => ({ id, queue, handler, state, act })),
    counts: { ...none, ...counts },
    dryRun,
  };
}
