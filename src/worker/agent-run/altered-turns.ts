import type { TurnRequest } from '../../protocol/link.ts';
import type { AttemptSession } from '../runner/runner.ts';

/** The same session, whose turns are altered before they are made. */
export function alteredTurns(session: AttemptSession, alter: (turn: TurnRequest) => TurnRequest): AttemptSession {
  return {
    journal: () => session.journal(),
    waited: () => session.waited(),
    results: (tasks) => session.results(tasks),
    dependencies: () => session.dependencies(),
    cancelChildren: (tasks) => session.cancelChildren(tasks),
    definition: (hash) => session.definition(hash),
    turn: (turn) => session.turn(alter(turn)),
  };
}
