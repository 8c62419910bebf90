import type { JournalHead } from '../../engine/records.ts';
import { isStepKey } from '../../flow/machine/history/run-history.ts';
import type { RunDetailView } from '../../protocol/views.ts';

type Totals = RunDetailView['totals'];
type Used = Omit<Totals, 'partial'>;

const NONE: Used = { apiCalls: 0, tokens: 0, cost: 0, agentMs: 0 };
/** The step that an entry below it belongs to. */
const STEP = /^s:\d{6,}(?=\/)/;

/** What the steps of these journals have used. */
export function totalsOf(heads: readonly JournalHead[], whole: boolean): Totals {
  // A step that has ended says what all its calls have used; until then its calls are counted one by one.
  const ended = new Set(
    heads.flatMap(({ task, key, usage }) =>
      isStepKey(key) && usage !== undefined ? [`${task}/${STEP.exec(key)?.[0] ?? key}`] : [],
    ),
  );
  const used = heads.flatMap(({ task, key, usage }) => {
    if (usage === undefined) return [];
    const step = isStepKey(key) ? undefined : STEP.exec(key)?.[0];
    return step !== undefined && ended.has(`${task}/${step}`) ? [] : usesIn(usage);
  });
  return { ...used.reduce(plus, NONE), ...(whole ? {} : { partial: true }) };
}

function plus(a: Used, b: Used): Used {
  return {
    apiCalls: a.apiCalls + b.apiCalls,
    tokens: a.tokens + b.tokens,
    cost: a.cost + b.cost,
    agentMs: a.agentMs + b.agentMs,
  };
}

/** Of a step, or of the calls of a tool loop. What others keep there is not counted. */
function usesIn(text: string): readonly Used[] {
  const usage: unknown = JSON.parse(text);
  return (Array.isArray(usage) ? (usage as unknown[]) : [usage]).flatMap((one) => {
    if (typeof one !== 'object' || one === null) return [];
    const { apiCalls, tokens, totalTokens, cost, ms } = one as Readonly<Record<string, unknown>>;
    return [
      { apiCalls: amount(apiCalls), tokens: amount(tokens ?? totalTokens), cost: amount(cost), agentMs: amount(ms) },
    ];
  });
}

const amount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
