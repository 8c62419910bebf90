import type { OperatedName } from '../../operate/operations/operations.ts';
import type { CallInput } from '../../operate/operator.ts';
import type { Handler } from '../http/route-handler.ts';

/** What the operator answers by itself: nothing of the request matters but what the table names, and who asks. */
export function operatorRoute<N extends OperatedName>(name: N): Handler<N> {
  // Checked by the table, and so what may be asked by it.
  return ({ operator, params, query, body, by }) => operator.answer(name, { params, query, body, by } as CallInput<N>);
}
