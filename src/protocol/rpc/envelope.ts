/** The envelope of JSON-RPC 2.0 calls and answers. */

/** The errors of JSON-RPC and of apflow, by their subject. */
export const RPC_ERRORS = {
  parse: { code: -32700, message: 'Parse error' },
  request: { code: -32600, message: 'Invalid Request' },
  method: { code: -32601, message: 'Method not found' },
  params: { code: -32602, message: 'Invalid params' },
  internal: { code: -32603, message: 'Internal error' },
  notFound: { code: -32001, message: 'Task not found' },
  circle: { code: -32002, message: 'Circular dependency' },
  executor: { code: -32003, message: 'Executor not found' },
  unauthorized: { code: -32004, message: 'Unauthorized' },
  schema: { code: -32005, message: 'Invalid task schema' },
  transition: { code: -32006, message: 'Invalid state transition' },
  unmet: { code: -32007, message: 'Dependency not satisfied' },
  running: { code: -32008, message: 'Already executing' },
  removal: { code: -32009, message: 'Cannot delete' },
  parent: { code: -32010, message: 'Invalid parent' },
  reference: { code: -32011, message: 'Invalid dependency reference' },
  tree: { code: -32012, message: 'Tree validation failed' },
} as const;
export type RpcErrorKind = keyof typeof RPC_ERRORS;

export type RpcId = string | number | null;

export interface RpcRequest {
  readonly method: string;
  /** Undefined: none were given. */
  readonly params: unknown;
  /** Undefined: it is a notification, and nobody waits for its answer. */
  readonly id: RpcId | undefined;
}

/** Calls in one batch. A larger batch would ask for much with one request. */
export const MAX_BATCH = 50;
const MAX_TEXT = 255;
const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'method', 'params', 'id']);

/** The call, or what is wrong with its envelope. */
export function readRequest(value: unknown): RpcRequest | { readonly problem: string; readonly id: RpcId } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'a call is an object', id: null };
  }
  const { jsonrpc, method, params, id } = value as Readonly<Record<string, unknown>>;
  if (id !== undefined && !isId(id)) return { problem: 'an id is a text, a number or null', id: null };
  const refuse = (problem: string) => ({ problem, id: id ?? null });
  if (jsonrpc !== '2.0') return refuse('"jsonrpc" is "2.0"');
  if (typeof method !== 'string' || method.length === 0 || method.length > MAX_TEXT) {
    return refuse('"method" is the name of a method');
  }
  if (params !== undefined && (typeof params !== 'object' || params === null)) {
    return refuse('"params" is an object or an array');
  }
  const strange = Object.keys(value).find((key) => !MEMBERS.has(key));
  if (strange !== undefined) return refuse(`a call has no ${JSON.stringify(strange.slice(0, 40))}`);
  return { method, params, id };
}

function isId(id: unknown): id is RpcId {
  if (id === null) return true;
  return typeof id === 'string' ? id.length <= MAX_TEXT : typeof id === 'number' && Number.isFinite(id);
}
