import type { Semantics } from './evaluate.ts';
import { binary, compare, negate } from './operators.ts';
import { isTrue, itemsOf, lookUp } from './values.ts';

/** Operators of conditions and templates, with the rules of Python. */
export const pythonSemantics: Semantics = {
  lookUp,
  binary,
  negate,
  compare,
  isTrue,
  // The deciding value itself: `context.name or "nobody"`.
  logical: (op, left, right, budget, at) => {
    const value = left();
    return isTrue(value, budget, at) === (op === 'or') ? value : right();
  },
  items: itemsOf,
};
