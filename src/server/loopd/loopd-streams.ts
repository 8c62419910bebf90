/** What happens in a loop and what it says, as streams that end with the run. */
import { pause } from '../../core/pause.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Run } from '../../engine/trees/runs.ts';
import { EngineSnapshot } from '../../operate/engine-snapshot.ts';
import { lookUp } from '../../operate/loops/loop-runs.ts';
import type { Message } from '../events/sse.ts';
import { EventStream } from '../http/answers.ts';
import { eventOf } from './loopd-views.ts';

/** How soon a stream tells what has happened. A look at a run that stands still is a few reads by key. */
const LOOK_MS = 500;
const HEADS = 500;

/** All that has happened, the oldest first, and then what happens. By its number nothing is told twice, and nothing is lost. */
export function eventsOf(
  engine: Engine,
  id: string,
  { after, last: given = 0 }: { readonly after?: number | undefined; readonly last?: number | undefined },
): EventStream {
  return new EventStream(async function* (signal): AsyncGenerator<Message> {
    let seen: Mark | undefined;
    for (let last = given; !signal.aborted; ) {
      const mark = await markOf(engine, id, seen?.key);
      if (mark.key !== seen?.key || mark.state !== seen?.state) {
        const { events, run } = await lookUp(new EngineSnapshot(engine), id);
        for (const event of events) {
          if (event.id <= last) continue;
          last = event.id;
          // Of two events in one millisecond neither is left out.
          if (after !== undefined && event.at < after) continue;
          yield { id: String(event.id), event: event.type, data: eventOf(run.id, event) };
        }
        if (isFinal(run.state)) return;
        seen = mark;
      }
      await pause(engine.world.timers, LOOK_MS, { signal, unref: true });
    }
  });
}

/** It changes whenever the run has stored something, or is in another state. */
interface Mark {
  readonly state: string;
  /** The last entry of its journal. */
  readonly key: string | undefined;
}

async function markOf(engine: Engine, id: string, after: string | undefined): Promise<Mark> {
  const run = await engine.runs.get(id);
  if (run === undefined) return { state: 'gone', key: after };
  const { state, attempt, task } = run;
  let key = after;
  for (let more = true; more; ) {
    const heads = await engine.store.journalHeads({ tasks: [task], after: key, limit: HEADS });
    key = heads.at(-1)?.key ?? key;
    more = heads.length === HEADS;
  }
  const wait = state === 'waiting' ? await engine.store.waitGet({ task }) : undefined;
  return { state: [state, attempt, wait?.key].join('/'), key };
}

/** The lines of a run as one text, from so many bytes on. */
export function outputOf(engine: Engine, { task }: Run, offset: number): EventStream {
  return new EventStream(async function* (signal): AsyncGenerator<Message> {
    let at = 0;
    for await (const { stream, text } of engine.logs.follow(task, { signal })) {
      if (stream === 'system') continue;
      const line = Buffer.from(`${text}\n`);
      const from = Math.min(Math.max(0, offset - at), line.length);
      const begins = at + from;
      at += line.length;
      if (from === line.length) continue;
      yield { id: String(at), event: 'output', data: { offset: begins, text: line.subarray(from).toString() } };
    }
  });
}
