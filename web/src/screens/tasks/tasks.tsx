/** The screen of tasks: filter, histogram and list. */

import { useCallback, useMemo, useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { filterOfQuery, NO_FILTER, queryOfFilter, type TaskFilter, unknownInQuery } from '../../model/filter.ts';
import { setQuery, useLocation } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty } from '../../ui/states.tsx';
import { Counts } from './counts.tsx';
import { List } from './list.tsx';
import { SavedViews } from './saved-views.tsx';

export function Tasks() {
  const { query } = useLocation();
  const filter = useMemo(() => filterOfQuery(query), [query]);
  const change = useCallback((next: TaskFilter) => setQuery(queryOfFilter(next)), []);
  const key = queryOfFilter(filter);
  const unknown = useMemo(() => unknownInQuery(query), [query]);
  const [problem, setProblem] = useState<string>();
  const queues = useResource('queues', (signal) => client.call('listQueues', { signal }), { everyMs: 30_000 });
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }), { everyMs: 60_000 });
  return (
    <Page title="Tasks" actions={<SavedViews screen="tasks" query={key} onOpen={(saved) => setQuery(saved)} />}>
      <FilterBar
        filter={filter}
        onChange={change}
        onProblem={setProblem}
        queues={queues.data?.queues.map(({ name }) => name) ?? []}
        handlers={handlers.data?.handlers.map(({ name }) => name) ?? []}
      />
      {problem !== undefined || unknown.length > 0 ? (
        // Other tasks than those that were asked for are not shown, and nothing can be done to them.
        <div className="panel">
          <Empty icon="search" title="The filter is not understood">
            <p>
              {problem === undefined ? `In the address: ${unknown.join(', ')}. ` : ''}
              No task is shown, so that nothing is done to the wrong ones.
            </p>
            {problem === undefined && <Button onClick={() => change(NO_FILTER)}>Clear the filter</Button>}
          </Empty>
        </div>
      ) : (
        <>
          <Counts filter={filter} onChange={change} />
          <List key={key} filter={filter} onClear={() => change(NO_FILTER)} />
        </>
      )}
    </Page>
  );
}
