import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/options.ts';
import { isEngineError } from '../../core/errors.ts';
import type { Operator } from '../../operate/operator.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeText } from '../display/safe.ts';
import { EXIT, exitCodeOfSignal } from './exit.ts';
import { withOperator } from './operator-for.ts';
import { onStopSignals } from './stop-signals.ts';

const POLL_MS = 1000;

export interface List<Row, Found extends readonly Row[] = readonly Row[]> {
  readonly read: (operator: Operator, out: Out) => Promise<Found>;
  readonly show: (found: Found, out: Out) => void;
  /** What a row is known by from one look to the next. */
  readonly keyOf: (row: Row) => string;
  /** What of it is worth another line when it changes; default all. */
  readonly comparable?: (row: Row) => unknown;
}

/** What a command lists: once, or with `--watch` each second until it is told to stop. */
export async function showList<Row>(config: Config, list: List<Row>): Promise<number> {
  const out = outFor(config);
  if (config.watch) return withOperator(config, (operator) => watch(operator, list, out));
  list.show(await withOperator(config, (operator) => list.read(operator, out)), out);
  return EXIT.fine;
}

async function watch<Row>(operator: Operator, list: List<Row>, out: Out): Promise<number> {
  const stopping = new AbortController();
  const unlisten = onStopSignals({
    stop: () => stopping.abort(),
    force: (signal) => process.exit(exitCodeOfSignal(signal)),
  });
  const tell = out.mode === 'screen' ? redrawing(list, out) : appending(list, out);
  let away = '';
  try {
    while (!stopping.signal.aborted) {
      try {
        tell(await list.read(operator, out));
        away = '';
      } catch (error) {
        // A node that restarts, a store that is busy: it is looked at again, and said once.
        if (!isEngineError(error) || !error.retryable) throw error;
        if (away !== error.message) out.note(safeText(error.message));
        away = error.message;
      }
      await sleep(POLL_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  } finally {
    unlisten();
  }
  return EXIT.fine;
}

/** On a terminal the same place is written anew; nothing flickers, because only what is left over is wiped. */
function redrawing<Row>(list: List<Row>, out: Out): (found: readonly Row[]) => void {
  let first = true;
  return (found) => {
    const lines: string[] = [];
    list.show(found, { ...out, line: (text) => void lines.push(text), note: (text) => void lines.push(text) });
    const wipe = first ? '\x1b[2J' : '';
    first = false;
    out.line(`${wipe}\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\n')}\x1b[J`);
  };
}

/** In a pipe a row is written when it is new, and when it has changed. */
function appending<Row>(list: List<Row>, out: Out): (found: readonly Row[]) => void {
  const { keyOf: nameOf, comparable: essence = (row: Row) => row } = list;
  let before = new Map<string, string>();
  return (found) => {
    const now = new Map(found.map((row) => [nameOf(row), JSON.stringify(essence(row))]));
    list.show(
      found.filter((row) => before.get(nameOf(row)) !== now.get(nameOf(row))),
      out,
    );
    before = now;
  };
}
