import type { OperatedName } from '../../operate/operations/operations.ts';
import type { CallInput } from '../../operate/operator.ts';
import type { Handler } from '../http/route-handler.ts';

/** The handler of a route that the operator answers alone: from the request it needs only what the table names, and the actor. */
export function operatorRoute<N extends OperatedName>(name: N): Handler<N> {
  // The table has validated it.
  return ({ operator, params, query, body, by }) => operator.answer(name, { params, query, body, by } as CallInput<N>);
}
