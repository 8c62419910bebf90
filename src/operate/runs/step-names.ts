/** What the keys of a journal are called where people read them. */
import { isStepKey, stepOfKey } from '../../flow/machine/history/run-history.ts';
import { stepHead } from '../../flow/machine/history/step-head.ts';

/** `fetch#2`: the third step of that name. */
const NTH = /^(.*)#(\d+)$/s;
/** `w:000012/step:fetch#2`: of a workflow, the third step of that name. */
const OF_WORKFLOW =
  /^w:\d{6,}\/(?:(error|end|due|try|begun|kept):)?(?:(step|child|signal|approval|sleep|now|random|log):)?(.*)$/s;
const OF_GRAPH = /^n:(\d+)(?:\/(\d+))?$/;
const PART = /^s:\d{6,}\/(.+)$/s;

export interface StepName {
  readonly name: string;
  readonly step?: number;
  readonly via?: readonly string[];
  readonly passed?: readonly string[];
}

/** `states`: those of the steps that are known, by the keys of the steps. `nodes`: of a graph, by their numbers. */
export function nameOf(
  key: string,
  head: string | undefined,
  states: ReadonlyMap<string, string>,
  nodes: readonly string[] = [],
): StepName {
  const step = stepOfKey(key);
  if (step === undefined) return { name: nodeName(key, nodes) ?? plainName(key) };
  const own = isStepKey(key) && head !== undefined ? stepHead(head) : undefined;
  if (own !== undefined) {
    const { state, via, passed } = own;
    return { name: state, step, ...(via.length === 0 ? {} : { via }), ...(passed.length === 0 ? {} : { passed }) };
  }
  const state = states.get(key.split('/', 1)[0] as string);
  return { name: partName(PART.exec(key)?.[1], state ?? `step ${step}`), step };
}

/** Of a part of a step: what a tool loop did, or a machine that was started. */
function partName(part: string | undefined, state: string): string {
  if (part === undefined || part.startsWith('mid:')) return state;
  const [, kind, which] = /^([mtbc]):(.*)$/s.exec(part) ?? [];
  if (kind === 'm') return `${state}: answer ${Number(which) + 1}`;
  if (kind === 't') return `${state}: tool ${which}`;
  if (kind === 'b') return `${state}: tool ${which} begun`;
  if (kind === 'c') return `${state}: context ${which}`;
  const [, launched, nth] = /^(l?)(\d+)$/.exec(part) ?? [];
  if (nth === undefined) return `${state}: ${part}`;
  return `${state}: ${launched === 'l' ? 'launched' : 'machine'} ${Number(nth) + 1}`;
}

/** Of the journal of a graph: a node, or one of its tasks. */
export function placeOfKey(key: string): { readonly node: number; readonly task?: number } | undefined {
  const [, node, task] = OF_GRAPH.exec(key) ?? [];
  if (node === undefined) return undefined;
  return { node: Number(node), ...(task === undefined ? {} : { task: Number(task) }) };
}

/** `n:3`: a node has ended. `n:3/0`: its first task. */
function nodeName(key: string, nodes: readonly string[]): string | undefined {
  const place = placeOfKey(key);
  const id = place && nodes[place.node];
  if (id === undefined) return undefined;
  return place?.task === undefined || place.task === 0 ? id : `${id} (${place.task + 1})`;
}

function plainName(key: string): string {
  const [, note, kind, place] = OF_WORKFLOW.exec(key) ?? [];
  if (place === undefined) return countedName(key);
  const name = countedName(place);
  const said = kind === undefined || kind === 'step' || name === kind ? name : `${kind} ${name}`;
  return note === undefined ? said : `${said}: ${NOTES[note] ?? note}`;
}

const NOTES: Readonly<Record<string, string>> = {
  error: 'failed',
  end: 'ended',
  due: 'until',
  try: 'tried',
  begun: 'begun',
  kept: 'came',
};

function countedName(key: string): string {
  const [, name, nth] = NTH.exec(key) ?? [];
  if (name === undefined || name === '') return key;
  return nth === '0' ? name : `${name} (${Number(nth) + 1})`;
}
