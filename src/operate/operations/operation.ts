import type { CallInput } from '../../client/client.ts';
import type { AnswerOf, RouteName } from '../../protocol/routes.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';

/** Answers a route from an engine alone. Fields with a default in the table may be left out. */
export type Operation<N extends RouteName> = (
  snapshot: EngineSnapshot,
  ask: CallInput<N>,
) => AnswerOf<N> | Promise<AnswerOf<N>>;

export type Operations = { readonly [N in RouteName]?: Operation<N> };
