/** A graph as it was read: nodes and what connects them. */
import type { MissedPolicy } from '../../core/schedule/due.ts';
import type { ScheduleTimes } from '../../core/schedule/expression.ts';
import type { TaskRequest } from '../../core/task/push.ts';
import type { Value, ValueMap } from '../expression/values.ts';
import type { ItemTemplate } from './expression/item-template.ts';

export interface Graph {
  readonly name: string;
  readonly nodes: readonly GraphNode[];
  /** Relative paths of files begin here. */
  readonly dataDirectory: string | undefined;
}

/** What flows: a map of fields. Each node adds one, under its name. */
export type Item = ValueMap;

export interface GraphNode {
  /** Its place in `Graph.nodes`. */
  readonly index: number;
  readonly id: string;
  /** Under this name its output stands in items. */
  readonly name: string;
  /** As the file says it. */
  readonly type: string;
  readonly work: Work;
  /** `map`: once for each item. `array`: once for all of them, and `$` is the first. */
  readonly kind: NodeKind;
  /** In place of what it would give. It does not run. */
  readonly pinned: readonly Item[] | undefined;
  readonly incoming: readonly Connection[];
  readonly outgoing: readonly Connection[];
}

export type NodeKind = 'map' | 'array';

export interface Connection {
  readonly from: number;
  readonly to: number;
  /** Of a node `if`: the items for which its condition does not hold. */
  readonly rejected: boolean;
}

export type Work =
  /** Within the run. */
  | { readonly do: 'start' }
  | { readonly do: 'scheduled'; readonly times: NodeTimes | undefined }
  | { readonly do: 'hardwired'; readonly items: readonly Value[] }
  | { readonly do: 'set'; readonly fields: readonly (readonly [string, ItemTemplate])[] }
  | { readonly do: 'transform'; readonly expression: ItemTemplate }
  | { readonly do: 'if'; readonly condition: ItemTemplate }
  | TaskWork;

/** When a node starts runs by itself. */
export interface NodeTimes extends ScheduleTimes {
  readonly timezone: string;
  readonly missed: MissedPolicy;
}

/** A task of its own, on any worker that may. */
export interface TaskWork {
  readonly do: 'task';
  readonly form: TaskForm;
  readonly data: ItemTemplate;
  readonly request: NodeRequest;
}

/** How the data of a node becomes the input of its handler, and the result its output. */
export type TaskForm = 'http' | 'append_to_file' | 'run_command' | 'handler';

/** All of the task but its input. */
export type NodeRequest = Omit<TaskRequest, 'queue' | 'input'> & { readonly queue?: string | undefined };
