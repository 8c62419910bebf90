import { useEffect, useState } from 'react';
import { client } from '../../api.ts';
import { startJob } from '../../live/jobs.ts';
import { filterText, requestOf, type TaskFilter } from '../../model/filter.ts';
import { isFinal, TASK_STATES, type TaskState } from '../../model/task-states.ts';
import { plural } from '../../model/text.ts';
import { exactTime } from '../../model/time.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { ErrorNote } from '../../ui/states.tsx';

export type BulkKind = 'retry' | 'cancel';

const MAX_TASKS = 50_000;

/** Which of the states that are asked for can be treated so. */
function statesFor(kind: BulkKind, filter: TaskFilter): readonly TaskState[] {
  const asked = filter.state.length > 0 ? filter.state : TASK_STATES;
  return asked.filter((state) => isFinal(state) === (kind === 'retry'));
}

/** Something for many tasks: it says which ones, by what question, and how many there are, before anything is done. */
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
            until: filter.until ?? now,
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
  const query = ids === undefined ? filterText({ ...filter, state: states }, exactTime) : 'those that are selected';
  const n = found?.length ?? 0;
  const perSecond = Number(rate);
  return (
    <FormDialog
      title={ids === undefined ? `${verb} all that match` : `${verb} those that are selected`}
      submit={found === undefined ? 'Counting …' : `${verb} ${plural(n, 'task')}`}
      danger={kind === 'cancel'}
      disabled={n === 0 || (rate !== '' && !(perSecond > 0))}
      onClose={onClose}
      act={async () => {
        startJob({
          title: `${verb}: ${query}`,
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
          None of what is asked for can be{' '}
          {kind === 'retry' ? 'run again: only what has ended can' : 'cancelled: all of it has ended'}.
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
                {n >= MAX_TASKS ? ', as many as are taken at once' : ''}. What comes after now is not touched.
              </>
            )}{' '}
            {kind === 'cancel'
              ? 'What waits ends at once; what runs is asked to stop.'
              : 'Each becomes ready once more and gets its tries back.'}
          </p>
          <Field label="At most a second" hint="Empty: as fast as it goes">
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
