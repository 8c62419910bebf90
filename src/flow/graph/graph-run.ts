import { isMap, type Value } from '../expression/values.ts';

/** The handler that runs graphs, and the queue of runs that name none. */
export const GRAPH_HANDLER = 'graph';
export const GRAPH_QUEUE = 'graphs';
/** A run that kills its worker again and again comes to an end. A wait gives its try back. */
export const GRAPH_TRIES = 25;

/** The input of a task of this handler. */
export interface GraphPayload {
  /** The hash of the stored definition: the workflow as JSON. */
  readonly definition: string;
  /** What the workflow is called that has no name of its own. */
  readonly name?: string;
  /** For the triggers: an item, or a list of them. */
  readonly input?: Value;
  /** The id of the trigger that fired; others give nothing. Default: all fire. */
  readonly trigger?: string;
  /** The id of the node with which the run ends. */
  readonly upTo?: string;
}

/** A text says what is wrong with it. */
export function readGraphPayload(given: Value): GraphPayload | string {
  if (!isMap(given)) return 'it is a map';
  const { definition, name, trigger, upTo } = given;
  if (typeof definition !== 'string') return '"definition" is a text';
  for (const [field, value] of Object.entries({ name, trigger, upTo }))
    if (value !== undefined && typeof value !== 'string') return `"${field}" is a text`;
  return given as unknown as GraphPayload;
}
