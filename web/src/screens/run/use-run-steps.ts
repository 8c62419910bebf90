/** The journals of the run that is shown, kept fresh while it is live. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { listen } from '../../live/feed.ts';
import { RunSteps, type RunStepsState } from '../../live/run-steps.ts';
import { openChildren, type Step, type StepRow } from '../../model/run/rows.ts';

/** No event tells of a step within an attempt. */
const EVERY_MS = 1_500;
const AFTER_EVENT_MS = 250;

const NOTHING: RunStepsState = { journals: new Map(), error: undefined };

export function useRunSteps(run: string, live: boolean) {
  const [steps, setSteps] = useState<RunSteps>();
  const [state, setState] = useState(NOTHING);
  const known = useRef<ReadonlySet<string>>(new Set([run]));
  useEffect(() => {
    const made = new RunSteps(run);
    setSteps(made);
    const unsubscribe = made.state.subscribe(() => setState(made.state.value));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unlisten = listen(
      (events) => {
        if (events.some(({ task }) => task !== undefined && known.current.has(task)))
          timer ??= setTimeout(() => {
            timer = undefined;
            void made.refresh();
          }, AFTER_EVENT_MS);
      },
      () => void made.refresh(),
    );
    return () => {
      clearTimeout(timer);
      unlisten();
      unsubscribe();
      made.close();
    };
  }, [run]);
  useEffect(() => {
    if (steps === undefined) return;
    // Once more after the end: what was last is in the journal by then.
    void steps.refresh();
    if (!live) return;
    const timer = setInterval(() => {
      if (!document.hidden) void steps.refresh();
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [steps, live]);

  /** Reads what open rows need, and tells whose events concern the page. */
  const watch = useCallback(
    (rows: readonly StepRow[], onTasks: (tasks: ReadonlySet<string>) => void): void => {
      const tasks = new Set([
        run,
        ...rows.flatMap(({ task, child }) => (child === undefined ? [task] : [task, child])),
      ]);
      if (tasks.size !== known.current.size || [...tasks].some((task) => !known.current.has(task))) {
        known.current = tasks;
        onTasks(tasks);
      }
      steps?.watch(openChildren(rows));
    },
    [run, steps],
  );
  const journals = useMemo(
    () => new Map<string, readonly Step[]>([...state.journals].map(([task, journal]) => [task, journal.steps])),
    [state.journals],
  );
  const more = useCallback(() => void steps?.more(), [steps]);
  return { journals, error: state.error, watch, more };
}
