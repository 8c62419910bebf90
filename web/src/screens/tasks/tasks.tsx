/** The screen of tasks: filter, histogram and list. */

import { useCallback, useMemo } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { filterOfQuery, NO_FILTER, queryOfFilter, type TaskFilter } from '../../model/filter.ts';
import { setQuery, useLocation } from '../../router.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { Page } from '../../ui/layout.tsx';
import { Counts } from './counts.tsx';
import { List } from './list.tsx';
import { SavedViews } from './saved-views.tsx';

export function Tasks() {
  const { query } = useLocation();
  const filter = useMemo(() => filterOfQuery(query), [query]);
  const change = useCallback((next: TaskFilter) => setQuery(queryOfFilter(next)), []);
  const key = queryOfFilter(filter);
  const queues = useResource('queues', (signal) => client.call('listQueues', { signal }), { everyMs: 30_000 });
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }), { everyMs: 60_000 });
  return (
    <Page
      title="Tasks"
      actions={<SavedViews screen="tasks" query={key} onOpen={(saved) => change(filterOfQuery(saved))} />}
    >
      <FilterBar
        filter={filter}
        onChange={change}
        queues={queues.data?.queues.map(({ name }) => name) ?? []}
        handlers={handlers.data?.handlers.map(({ name }) => name) ?? []}
      />
      <Counts filter={filter} onChange={change} />
      <List key={key} filter={filter} onClear={() => change(NO_FILTER)} />
    </Page>
  );
}
