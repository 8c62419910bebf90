/** The screen of artifacts: which files tasks have left behind, how much room they take, and one of them in a drawer. */

import { useCallback, useEffect, useMemo, useState } from 'react';
import { type Artifact, client } from '../../api.ts';
import { FileList } from '../../live/file-list.ts';
import { useResource } from '../../live/resource.ts';
import { useSignal } from '../../live/signal.ts';
import { type FileFilter, fileFilterOf, NO_FILE_FILTER, queryOfFiles } from '../../model/files/list.ts';
import { usageText } from '../../model/files/words.ts';
import { plural } from '../../model/text.ts';
import { go, segment, setQuery, useLocation } from '../../router.tsx';
import { Button, Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/states.tsx';
import { VirtualTable } from '../../ui/virtual-table.tsx';
import { COLUMNS, narrowRow } from './columns.tsx';
import { FileDrawer } from './file-drawer.tsx';
import { Filters } from './filters.tsx';

export default function Files({ id }: { readonly id: string | undefined }) {
  const { query } = useLocation();
  const filter = useMemo(() => fileFilterOf(query), [query]);
  const key = queryOfFiles(filter);
  const [list, setList] = useState<FileList>();
  useEffect(() => {
    const made = new FileList(fileFilterOf(key));
    setList(made);
    return () => made.close();
  }, [key]);
  const usage = useUsage();
  const change = useCallback((next: FileFilter) => setQuery(queryOfFiles(next)), []);
  const at = useCallback(
    (to: string | undefined) => `/artifacts${to === undefined ? '' : `/${segment(to)}`}${key === '' ? '' : `?${key}`}`,
    [key],
  );
  return (
    <Page
      title="Artifacts"
      about={
        <>
          Files that tasks leave behind: reports, pictures, logs, results that were too large for their task.
          {usage.data !== undefined && <span className="strong"> {usageText(usage.data)} in all.</span>}
        </>
      }
    >
      <Filters key={key} filter={filter} onChange={change} />
      {list !== undefined && (
        <Rows
          list={list}
          filtered={key !== ''}
          onOpen={(row) => go(at(row.id))}
          onClear={() => change(NO_FILE_FILTER)}
        />
      )}
      {id !== undefined && (
        <FileDrawer
          key={id}
          id={id}
          onClose={() => go(at(undefined))}
          onRemoved={() => {
            list?.drop(id);
            usage.refresh();
            go(at(undefined));
          }}
        />
      )}
    </Page>
  );
}

function useUsage() {
  return useResource('artifact usage', (signal) => client.call('artifactUsage', { signal }), { everyMs: 10_000 });
}

function Rows({
  list,
  filtered,
  onOpen,
  onClear,
}: {
  readonly list: FileList;
  readonly filtered: boolean;
  readonly onOpen: (row: Artifact) => void;
  readonly onClear: () => void;
}) {
  const state = useSignal(list.state);
  const [scrolledAway, setScrolledAway] = useState(false);
  useEffect(() => list.freeze(scrolledAway), [list, scrolledAway]);
  const loadMore = useCallback(() => void list.more(), [list]);
  if (!state.loaded)
    return state.error === undefined ? (
      <div className="panel">
        <Loading rows={10} />
      </div>
    ) : (
      <ErrorNote error={state.error} retry={() => void list.reload()} />
    );
  if (state.rows.length === 0) return <NoFiles filtered={filtered} onClear={onClear} />;
  return (
    <>
      {state.error !== undefined && <ErrorNote error={state.error} retry={() => void list.reload()} />}
      {scrolledAway && state.fresh > 0 && (
        <div className="newchip">
          <button type="button" onClick={() => scrollTo({ top: 0 })}>
            Paused, {state.fresh} new
          </button>
        </div>
      )}
      <VirtualTable
        label="Artifacts"
        rows={state.rows}
        keyOf={idOf}
        columns={COLUMNS}
        narrow={narrowRow}
        height={48}
        onOpen={onOpen}
        onEnd={loadMore}
        onScrolledAway={setScrolledAway}
        foot={
          state.cursor === undefined
            ? `${plural(state.rows.length, 'artifact')}, all of them`
            : state.loadingMore
              ? 'Loading more …'
              : `${state.rows.length.toLocaleString('en')} shown; scroll for more`
        }
      />
    </>
  );
}

const idOf = (artifact: Artifact): string => artifact.id;

function NoFiles({ filtered, onClear }: { readonly filtered: boolean; readonly onClear: () => void }) {
  if (filtered)
    return (
      <div className="panel">
        <Empty icon="search" title="No artifact matches">
          <p>A name is matched whole. New artifacts that match appear here by themselves.</p>
          <Button onClick={onClear}>Clear the filter</Button>
        </Empty>
      </div>
    );
  return (
    <div className="panel">
      <Empty icon="files" title="No artifacts yet">
        <p>A handler leaves a file with its task by ctx.artifacts. It is shown here once it is whole.</p>
        <Command text={`npx leasehold artifacts list --server ${location.origin}`} />
      </Empty>
    </div>
  );
}
