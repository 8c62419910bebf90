/** The screen that pushes a new task, or one like an existing task. */

import { useEffect, useState } from 'react';
import { client, exactTask } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { Link, segment, useLocation } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Page } from '../../ui/layout.tsx';
import { Empty, WhenLoaded } from '../../ui/states.tsx';
import { Form } from './form.tsx';
import { draftLike, takeDraft } from './push-draft.ts';

export default function Push() {
  const may = useMay('operator');
  const { query } = useLocation();
  const search = new URLSearchParams(query);
  const like = search.get('like');
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }), {
    on: ({ kind }) => kind === 'registered',
    atMostMs: 2_000,
  });
  const [start, setStart] = useState(() => takeDraft(like));
  // The address alone is enough: without a draft the task is read.
  useEffect(() => {
    if (like === null || start !== undefined) return;
    exactTask(like).then(
      (task) => {
        draftLike(task);
        setStart(takeDraft(like));
      },
      () => {},
    );
  }, [like, start]);
  if (!may)
    return (
      <Page title="Push a task">
        <Empty icon="key" title="You cannot push tasks">
          <p>This needs the role operator.</p>
        </Empty>
      </Page>
    );
  return (
    <Page
      title={like === null ? 'Push a task' : 'Edit and run'}
      about={
        like === null ? undefined : (
          <>
            A new task like{' '}
            <Link to={`/tasks/${segment(like)}`} className="link mono">
              {like}
            </Link>
            . The old task stays as it is.
          </>
        )
      }
    >
      <WhenLoaded of={handlers}>
        {({ handlers: all }) =>
          like !== null && start === undefined ? (
            <span />
          ) : (
            <Form
              key={start?.like ?? ''}
              handlers={all}
              start={start}
              wanted={search.get('handler') ?? ''}
              queue={search.get('queue') ?? ''}
            />
          )
        }
      </WhenLoaded>
    </Page>
  );
}
