import type { TaskForm, Work } from './definition.ts';

/** What is known about a type of node. Any other name is that of a handler. */
export interface NodeType {
  readonly work: Exclude<Work['do'], 'task'> | TaskForm;
  /** For each item, where the node does not say; otherwise once for all. */
  readonly perItem: boolean;
  /** How long a task of it may run, where the node does not say. */
  readonly timeoutMs: number;
  /** Fields of its data without which it cannot run. */
  readonly needs: readonly string[];
}

const MINUTE = 60_000;

export const NODE_TYPES: ReadonlyMap<string, NodeType> = new Map<string, NodeType>([
  ['start', { work: 'start', perItem: false, timeoutMs: 0, needs: [] }],
  ['scheduled', { work: 'scheduled', perItem: false, timeoutMs: 0, needs: [] }],
  ['hardwired', { work: 'hardwired', perItem: false, timeoutMs: 0, needs: ['json'] }],
  ['set', { work: 'set', perItem: true, timeoutMs: 0, needs: ['fields'] }],
  ['transform', { work: 'transform', perItem: true, timeoutMs: 0, needs: ['expression'] }],
  ['if', { work: 'if', perItem: false, timeoutMs: 0, needs: ['condition'] }],
  ['http', { work: 'http', perItem: false, timeoutMs: MINUTE, needs: ['url'] }],
  ['append_to_file', { work: 'append_to_file', perItem: false, timeoutMs: MINUTE, needs: ['filepath'] }],
  ['run_command', { work: 'run_command', perItem: false, timeoutMs: 5 * MINUTE, needs: [] }],
]);

export const HANDLER_TYPE: NodeType = { work: 'handler', perItem: false, timeoutMs: 10 * MINUTE, needs: [] };

/** `core/set`, `core set` and `system/run_command` are other spellings of `set` and `run_command`. */
export function nodeTypeOf(name: string): NodeType {
  return NODE_TYPES.get(name.replace(/^(?:core|system)[/ ]/, '')) ?? HANDLER_TYPE;
}

export const isTrigger = ({ do: work }: Work): boolean => work === 'start' || work === 'scheduled';
