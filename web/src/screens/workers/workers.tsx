/** The screen of workers: the list, its filter, its selection, and the drawer of one worker. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { plural } from '../../model/text.ts';
import { matchesSearch, workerRows } from '../../model/workers/worker-rows.ts';
import { go, segment } from '../../router.tsx';
import { addressOf, useMay, useMe } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, WhenLoaded } from '../../ui/states.tsx';
import { VirtualTable } from '../../ui/virtual-table.tsx';
import { columnsFor, NarrowRow } from './columns.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { TagPanel } from './tag-panel.tsx';
import { type Row, useWorkers } from './use-workers.ts';
import { WorkerDrawer } from './worker-drawer.tsx';

const NONE: ReadonlySet<string> = new Set();

export default function Workers({ name }: { readonly name: string | undefined }) {
  const workers = useWorkers();
  const tags = useResource('tags', (signal) => client.call('listTags', { signal }), { everyMs: 10_000 });
  const may = useMay('operator');
  const [creating, setCreating] = useState(false);
  const [selected, setSelected] = useState(NONE);
  const [search, setSearch] = useState('');
  const changed = (): void => {
    workers.refresh();
    tags.refresh();
  };
  return (
    <Page
      title="Workers"
      about="The programs that run tasks. A worker is known by its name. Each start is a new process."
      actions={
        <>
          <Button onClick={() => go('/releases')}>Releases</Button>
          {may && (
            <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
              Create a worker
            </Button>
          )}
        </>
      }
    >
      <WhenLoaded of={workers}>
        {(data) => {
          const rows = workerRows(data.workers, data.absent);
          if (rows.length === 0) return <NoWorkers />;
          const shown = search === '' ? rows : rows.filter((row) => matchesSearch(row, search));
          const names = [...new Set(rows.filter(({ key }) => selected.has(key)).map((row) => row.name))];
          return (
            <>
              <div className="filterbar">
                <div className="combo">
                  <Icon name="search" size={14} />
                  <input
                    data-filter
                    className="input"
                    type="search"
                    aria-label="Filter workers by name, host, state or tag"
                    placeholder="Name, host, state or tag"
                    value={search}
                    onChange={(event) => setSearch(event.target.value)}
                  />
                  {search === '' && <kbd>/</kbd>}
                </div>
                <span className="quiet">
                  {shown.length === rows.length ? plural(rows.length, 'worker') : `${shown.length} of ${rows.length}`}
                </span>
              </div>
              <VirtualTable
                label="Workers"
                rows={shown}
                keyOf={keyOf}
                columns={columnsFor(may, changed)}
                narrow={(row) => <NarrowRow row={row} />}
                height={60}
                narrowHeight={88}
                onOpen={(row) => go(`/workers/${segment(row.name)}`)}
                selected={may ? selected : undefined}
                onSelect={
                  may
                    ? (key) =>
                        setSelected(
                          (before) =>
                            new Set(before.has(key) ? [...before].filter((one) => one !== key) : [...before, key]),
                        )
                    : undefined
                }
                onSelectAll={() => setSelected(selected.size >= shown.length ? NONE : new Set(shown.map(keyOf)))}
              />
              <TagPanel tags={tags.data?.tags ?? []} names={names} may={may} onChanged={changed} />
              {names.length > 0 && <SelectionBar names={names} onChanged={changed} onClear={() => setSelected(NONE)} />}
            </>
          );
        }}
      </WhenLoaded>
      {creating && (
        <CreateDialog
          onClose={() => {
            setCreating(false);
            changed();
          }}
        />
      )}
      {name !== undefined && <WorkerDrawer key={name} name={name} onChanged={changed} />}
    </Page>
  );
}

const keyOf = (row: Row): string => row.key;

function NoWorkers() {
  const address = addressOf(useMe());
  return (
    <div className="panel">
      <Empty icon="workers" title="No workers">
        <p>No task runs until a worker joins. On this host, with the built-in handlers:</p>
        <Command text="npx leasehold worker" />
        <p>For another host, create a worker here. It gets a name and a secret, and joins {address}.</p>
      </Empty>
    </div>
  );
}
