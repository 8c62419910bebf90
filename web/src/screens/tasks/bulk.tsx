/** The dialog of a bulk action. It shows the filter and the number of tasks before anything is done. */

import { useEffect, useState } from 'react';
import { client } from '../../api.ts';
import { startJob } from '../../live/jobs.ts';
import { actionName, filterText, requestOf, type TaskFilter } from '../../model/filter.ts';
import { isFinal, TASK_STATES, type TaskState } from '../../model/task-states.ts';
import { plural } from '../../model/text.ts';
import { exactTime } from '../../model/time.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { ErrorNote } from '../../ui/states.tsx';

export type BulkKind = 'retry' | 'cancel';

const MAX_TASKS = 50_000;

/** The states of the filter to which the action applies. */
function statesFor(kind: BulkKind, filter: TaskFilter): readonly TaskState[] {
  const asked = filter.state.length > 0 ? filter.state : TASK_STATES;
  return asked.filter((state) => isFinal(state) === (kind === 'retry'));
}

export function BulkDialog({
  kind,
  ids,
  filter,
  onClose,
  onStarted,
}: {
  readonly kind: BulkKind;
  readonly ids?: readonly string[] | undefined;
  readonly filter: TaskFilter;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}) {
  const [found, setFound] = useState<readonly string[] | undefined>(ids);
  const [counting, setCounting] = useState(0);
  const [error, setError] = useState<unknown>();
  const [rate, setRate] = useState('');
  const states = statesFor(kind, filter);
  const now = useState(() => Date.now())[0];
  useEffect(() => {
    if (ids !== undefined || states.length === 0) return;
    const end = new AbortController();
    const collect = async (): Promise<void> => {
      const all: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.call('listTasks', {
          query: {
            ...requestOf(filter, now),
            state: [...states],
            // The newest come first, so that tasks pushed from now on are on none of the next pages.
            limit: 500,
            ...(cursor === undefined ? {} : { cursor }),
          },
          signal: end.signal,
        });
        all.push(...page.tasks.map(({ id }) => id));
        cursor = page.cursor;
        setCounting(all.length);
      } while (cursor !== undefined && all.length < MAX_TASKS);
      setFound(all);
    };
    collect().catch((thrown: unknown) => end.signal.aborted || setError(thrown));
    return () => end.abort();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- counted once, when it opens
  }, []);

  const verb = kind === 'retry' ? 'Run again' : 'Cancel';
  const query = ids === undefined ? filterText({ ...filter, state: states }, exactTime) : 'the selected tasks';
  const n = found?.length ?? 0;
  const action = actionName(
    kind,
    n,
    ids === undefined ? { ...filter, state: filter.state.length > 0 ? states : [] } : undefined,
    exactTime,
  );
  const perSecond = Number(rate);
  return (
    <FormDialog
      title={ids === undefined ? `${verb} all matching tasks` : `${verb} the selected tasks`}
      submit={found === undefined ? 'Counting …' : action}
      danger={kind === 'cancel'}
      disabled={n === 0 || (rate !== '' && !(perSecond > 0))}
      onClose={onClose}
      act={async () => {
        startJob({
          title: action,
          ids: found ?? [],
          ...(rate === '' ? {} : { perSecond }),
          act: (id) => client.call(kind === 'retry' ? 'retryTask' : 'cancelTask', { params: { id }, body: {} }),
        });
        onStarted();
      }}
    >
      {error !== undefined && <ErrorNote error={error} />}
      {states.length === 0 ? (
        <p>
          None of these tasks can be{' '}
          {kind === 'retry' ? 'run again: none of them has ended' : 'cancelled: all of them have ended'}.
        </p>
      ) : (
        <>
          <pre className="code">{query}</pre>
          <p>
            {found === undefined ? (
              `${plural(counting, 'task')} so far …`
            ) : (
              <>
                <b>{plural(n, 'task')}</b>
                {n >= MAX_TASKS ? ', the most that one job takes' : ''}. Tasks pushed from now on are not touched.
              </>
            )}{' '}
            {kind === 'cancel'
              ? 'Waiting tasks end at once. Running tasks are asked to stop.'
              : 'Each task becomes ready again, with all its tries.'}
          </p>
          <Field label="Tasks per second" hint="Empty: as fast as possible">
            {(props) => (
              <input
                {...props}
                className="input short"
                inputMode="decimal"
                value={rate}
                onChange={(event) => setRate(event.target.value)}
              />
            )}
          </Field>
        </>
      )}
    </FormDialog>
  );
}
