import type { TurnEntry, TurnRequest, TurnThen } from '../../protocol/link.ts';

/** A turn whose rows have passed `hideIn`. What goes to other tasks, as input or as a signal, stays as it was said. */
export function hiddenTurn(turn: TurnRequest, hideIn: (value: unknown) => unknown): TurnRequest {
  const entry = (one: TurnEntry): TurnEntry => {
    if (one.kind === 'child' || one.kind === 'signal') return one;
    const { value, usage } = one;
    return { ...one, value: hideIn(value), ...(usage === undefined ? {} : { usage: hideIn(usage) }) };
  };
  return { ...turn, entries: turn.entries.map(entry), then: hiddenThen(turn.then, hideIn) };
}

function hiddenThen(then: TurnThen, hideIn: (value: unknown) => unknown): TurnThen {
  switch (then.go) {
    case 'on':
      return then;
    case 'park':
      return then.form === undefined ? then : { ...then, form: hideIn(then.form) };
    case 'complete':
      return { ...then, result: hideIn(then.result) };
    case 'fail':
      return { ...then, error: hideIn(then.error) };
  }
}
