import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { client, type Worker } from '../../api.ts';
import { listen } from '../../live/feed.ts';
import { useResource } from '../../live/resource.ts';
import { matchesWord, type WorkerRow, workerRows } from '../../model/worker-rows.ts';
import { go, Link, segment } from '../../router.tsx';
import { addressOf, useMay, useMe } from '../../session.ts';
import {
  Awaited,
  Button,
  Command,
  Countdown,
  Empty,
  Field,
  KeyValues,
  Meter,
  Page,
  Panel,
  plural,
  State,
  Switch,
  shortId,
  Time,
} from '../../ui/basic.tsx';
import { Drawer, FormDialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { attempt } from '../../ui/toast.tsx';
import { type Column, VirtualTable } from '../../ui/virtual-table.tsx';

type Row = WorkerRow<Worker>;

const SHORT_FLEET = 200;

function useWorkers() {
  const [many, setMany] = useState(false);
  const workers = useResource('workers', (signal) => client.call('listWorkers', { signal }), {
    everyMs: many ? 15_000 : 3_000,
  });
  const { set, refresh, data } = workers;
  useEffect(() => setMany((data?.workers.length ?? 0) > SHORT_FLEET), [data]);
  // Who comes or beats is looked at by name; the rest of the list stays.
  useEffect(
    () =>
      listen((events) => {
        const names = new Set(
          events.flatMap(({ kind, worker }) => (worker !== undefined && kind === 'registered' ? [worker] : [])),
        );
        if (names.size > 5) refresh();
        else
          for (const name of names) {
            client.call('getWorker', { params: { name } }).then(
              ({ processes }) =>
                set((before) => ({
                  ...before,
                  workers: [...before.workers.filter((one) => one.name !== name), ...processes.slice(0, 5)],
                  absent: before.absent.filter((one) => one.name !== name),
                })),
              () => {},
            );
          }
      }),
    [set, refresh],
  );
  return workers;
}

const NOBODY: ReadonlySet<string> = new Set();

export default function Workers({ name }: { readonly name: string | undefined }) {
  const workers = useWorkers();
  const tags = useResource('tags', (signal) => client.call('listTags', { signal }), { everyMs: 10_000 });
  const may = useMay('operator');
  const [creating, setCreating] = useState(false);
  const [selected, setSelected] = useState(NOBODY);
  const [search, setSearch] = useState('');
  const changed = (): void => {
    workers.refresh();
    tags.refresh();
  };
  return (
    <Page
      title="Workers"
      about="What runs tasks. A worker is known by its name; each start of it is a new process."
      actions={
        may && (
          <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a worker
          </Button>
        )
      }
    >
      <Awaited of={workers}>
        {(data) => {
          const rows = workerRows(data.workers, data.absent);
          if (rows.length === 0) return <NoWorkers />;
          const shown = search === '' ? rows : rows.filter((row) => matchesWord(row, search));
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
                narrow={(row) => <Narrow row={row} />}
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
                onSelectAll={() => setSelected(selected.size >= shown.length ? NOBODY : new Set(shown.map(keyOf)))}
              />
              <TagPanel tags={tags.data?.tags ?? []} names={names} may={may} onChanged={changed} />
              {names.length > 0 && (
                <div className="bulk" role="region" aria-label="What to do with the selected workers">
                  <span className="strong">{plural(names.length, 'worker')}</span>
                  <Button
                    small
                    icon="play"
                    onClick={() => attempt(() => editAll(names, { enabled: true }).then(changed), 'They take tasks.')}
                  >
                    Enable
                  </Button>
                  <Button
                    small
                    icon="pause"
                    onClick={() =>
                      attempt(
                        () => editAll(names, { enabled: false }).then(changed),
                        'They drain: they take nothing more, and what they run goes on.',
                      )
                    }
                  >
                    Drain
                  </Button>
                  <Button
                    small
                    kind="plain"
                    icon="close"
                    aria-label="Select none"
                    onClick={() => setSelected(NOBODY)}
                  />
                </div>
              )}
            </>
          );
        }}
      </Awaited>
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

function columnsFor(may: boolean, changed: () => void): readonly Column<Row>[] {
  return [
    {
      head: 'Worker',
      track: 'minmax(150px, 2fr)',
      cell: (row) => (
        <Link to={`/workers/${segment(row.name)}`} className="worker-line">
          <span className="strong cut">{row.name}</span>
          <span className="quiet cut">
            {row.worker?.address ?? row.worker?.host ?? 'never seen'}
            {row.worker?.version === undefined ? '' : ` · ${row.worker.version}`}
          </span>
        </Link>
      ),
    },
    {
      head: 'State',
      track: '116px',
      cell: (row) => (
        <span className="worker-line">
          <StateOf row={row} />
          <span className="quiet">
            {row.worker === undefined ? (
              '–'
            ) : (
              <>
                seen <Time at={row.worker.lastSeenAt} />
              </>
            )}
          </span>
        </span>
      ),
    },
    { head: 'On', track: '34px', cell: (row) => <Enabled row={row} may={may} onChanged={changed} /> },
    { head: 'Priority', track: '56px', num: true, cell: (row) => <Priority row={row} may={may} onChanged={changed} /> },
    {
      head: 'Tags',
      track: 'minmax(120px, 2fr)',
      loose: true,
      cell: (row) => <Tags row={row} may={may} onChanged={changed} />,
    },
    {
      head: 'Slots',
      track: '92px',
      cell: (row) =>
        row.worker === undefined ? (
          <span className="quiet">–</span>
        ) : (
          <span className="worker-line">
            <span>
              {row.worker.running} of {row.worker.slots}
            </span>
            <Meter
              value={row.worker.running}
              max={row.worker.slots}
              label={`${row.worker.running} of ${row.worker.slots} slots are in use`}
              tone="s-running"
            />
          </span>
        ),
    },
    { head: 'Current', track: 'minmax(90px, 1fr)', loose: true, cell: (row) => <Current row={row} /> },
    { head: 'Ended', track: '62px', num: true, cell: (row) => row.worker?.totalTasks.toLocaleString('en') ?? '–' },
  ];
}

function StateOf({ row }: { readonly row: Row }) {
  const state = row.worker?.state ?? 'offline';
  return (
    <State
      state={!row.enabled && state === 'online' ? 'disabled' : state}
      label={!row.enabled && state === 'online' ? (row.worker?.running ? 'draining' : 'disabled') : state}
    />
  );
}

function Narrow({ row }: { readonly row: Row }) {
  return (
    <Link to={`/workers/${segment(row.name)}`} className="narrow-row">
      <span className="strong cut">{row.name}</span>
      <StateOf row={row} />
      <span className="quiet cut">{row.worker?.address ?? row.worker?.host ?? 'never seen'}</span>
      <span className="quiet">
        {row.worker === undefined ? '' : `${row.worker.running} of ${row.worker.slots} slots`}
      </span>
      <span className="tags" style={{ gridColumn: '1 / -1', maxHeight: 22, overflow: 'hidden' }}>
        {row.tags.slice(0, 6).map((tag) => (
          <span key={tag} className="tag">
            {tag}
          </span>
        ))}
      </span>
    </Link>
  );
}

function Current({ row }: { readonly row: Row }) {
  const tasks = row.worker?.currentTasks ?? [];
  if (tasks.length === 0) return <span className="quiet">–</span>;
  return (
    <span className="row">
      {tasks.slice(0, 1).map((id) => (
        <Link key={id} to={`/tasks/${segment(id)}`} className="link mono" title={id}>
          {shortId(id)}
        </Link>
      ))}
      {tasks.length > 1 && <span className="quiet">+{tasks.length - 1}</span>}
    </span>
  );
}

type Edit = Parameters<typeof client.call<'editWorker'>>[1]['body'];

const edit = (name: string, body: Edit): Promise<unknown> => client.call('editWorker', { params: { name }, body });
const editAll = (names: readonly string[], body: Edit): Promise<unknown> =>
  Promise.all(names.map((name) => edit(name, body)));

function Enabled({
  row,
  may,
  onChanged,
}: {
  readonly row: Row;
  readonly may: boolean;
  readonly onChanged: () => void;
}) {
  const { name, enabled } = row;
  return (
    <Switch
      hideLabel
      label={`${name} takes tasks`}
      checked={enabled}
      disabled={!may}
      onChange={(next) =>
        attempt(
          () => edit(name, { enabled: next }).then(onChanged),
          next ? `${name} takes tasks again.` : `${name} takes no more tasks; what it runs goes on.`,
        )
      }
    />
  );
}

function Priority({
  row,
  may,
  onChanged,
}: {
  readonly row: Row;
  readonly may: boolean;
  readonly onChanged: () => void;
}) {
  const [text, setText] = useState<string>();
  const shown = row.priority ?? 0;
  if (!may) return <span>{shown}</span>;
  if (text === undefined)
    return (
      <button
        type="button"
        className="priority"
        aria-label={`Priority of ${row.name}: ${shown}. Edit`}
        title="Higher ones are given work first"
        onClick={() => setText(String(shown))}
      >
        {shown}
      </button>
    );
  const save = (): void => {
    setText(undefined);
    if (/^-?\d+$/.test(text.trim()) && Number(text) !== shown)
      attempt(() => edit(row.name, { priority: Number(text) }).then(onChanged));
  };
  return (
    <input
      className="input"
      style={{ width: 52, minHeight: 24, padding: '0 6px' }}
      autoFocus
      aria-label={`Priority of ${row.name}`}
      inputMode="numeric"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === 'Enter') save();
        if (event.key === 'Escape') setText(undefined);
      }}
    />
  );
}

/** A double click takes a tag away; the button adds one. */
function Tags({ row, may, onChanged }: { readonly row: Row; readonly may: boolean; readonly onChanged: () => void }) {
  const [adding, setAdding] = useState<string>();
  const remove = (tag: string): void =>
    attempt(
      () => edit(row.name, { removeTags: [tag] }).then(onChanged),
      `${row.name} no longer carries ${tag}, where it was given here.`,
    );
  const add = (event: FormEvent): void => {
    event.preventDefault();
    const tags = (adding ?? '')
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '');
    setAdding(undefined);
    if (tags.length > 0)
      attempt(() => edit(row.name, { addTags: tags }).then(onChanged), `${row.name} carries ${tags.join(', ')}.`);
  };
  const start: ReactNode =
    adding === undefined ? (
      <button type="button" className="tag add" aria-label={`Add a tag to ${row.name}`} onClick={() => setAdding('')}>
        +
      </button>
    ) : (
      <form onSubmit={add}>
        <input
          className="input"
          style={{ width: 96, minHeight: 22, padding: '0 6px' }}
          autoFocus
          aria-label={`New tag for ${row.name}`}
          list="known-tags"
          value={adding}
          onChange={(event) => setAdding(event.target.value)}
          onBlur={() => setAdding(undefined)}
          onKeyDown={(event) => event.key === 'Escape' && setAdding(undefined)}
        />
      </form>
    );
  return (
    <span className="tags" style={{ maxHeight: 46, overflow: 'hidden' }}>
      {row.tags.map((tag) =>
        may ? (
          <button
            key={tag}
            type="button"
            className="tag"
            title={`${tag}: double-click to take it away`}
            onDoubleClick={() => remove(tag)}
            onKeyDown={(event) => (event.key === 'Delete' || event.key === 'Backspace') && remove(tag)}
          >
            {tag}
          </button>
        ) : (
          <span key={tag} className="tag">
            {tag}
          </span>
        ),
      )}
      {row.tags.length === 0 && !may && <span className="quiet">–</span>}
      {may && start}
    </span>
  );
}

interface TagRow {
  readonly tag: string;
  readonly workers: number;
  readonly wantedBy: readonly string[];
}

/** All tags there are. A double click gives one to the workers that are selected, as document 004 has it. */
function TagPanel({
  tags,
  names,
  may,
  onChanged,
}: {
  readonly tags: readonly TagRow[];
  readonly names: readonly string[];
  readonly may: boolean;
  readonly onChanged: () => void;
}) {
  const how =
    names.length === 0
      ? 'Select workers, then double-click a tag to give it'
      : `Double-click gives a tag to ${names.length === 1 ? names[0] : plural(names.length, 'worker')}`;
  return (
    <Panel title="Tags" count={tags.length} actions={may && <span className="quiet wide-only">{how}</span>}>
      <datalist id="known-tags">
        {tags.map(({ tag }) => (
          <option key={tag} value={tag} />
        ))}
      </datalist>
      <div className="panel-body tags">
        {tags.length === 0 && (
          <span className="quiet">
            No worker carries a tag and no task asks for one. <code>leasehold worker --tag gpu</code> brings one along.
          </span>
        )}
        {tags.map(({ tag, workers, wantedBy }) => {
          const missing = workers === 0 && wantedBy.length > 0;
          const asked = wantedBy.length > 0 ? `; asked for in ${wantedBy.join(', ')}` : '';
          const text = `${tag}: ${missing ? 'nobody has it' : plural(workers, 'worker')}${asked}`;
          const give = (): void => {
            if (may && names.length > 0)
              attempt(() => editAll(names, { addTags: [tag] }).then(onChanged), `${names.join(', ')}: ${tag}.`);
          };
          return (
            <button
              key={tag}
              type="button"
              className={`tag ${missing ? 'wanted' : ''}`}
              title={text}
              onDoubleClick={give}
              onKeyDown={(event) => event.key === 'Enter' && give()}
            >
              {missing && <Icon name="failed" size={11} />}
              {tag}
              <span className="quiet">{workers}</span>
            </button>
          );
        })}
      </div>
    </Panel>
  );
}

function NoWorkers() {
  const address = addressOf(useMe());
  return (
    <div className="panel">
      <Empty icon="workers" title="No workers">
        <p>Nothing runs until one comes. On this machine, with the handlers that come with Leasehold:</p>
        <Command text="npx leasehold worker" />
        <p>For another machine create one here: it gets a name and a secret, and joins {address}.</p>
      </Empty>
    </div>
  );
}

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [tags, setTags] = useState('');
  const [priority, setPriority] = useState('');
  const [made, setMade] = useState<{
    readonly name: string;
    readonly join: string;
    readonly secret?: string | undefined;
    readonly code?: string | undefined;
  }>();
  const joined = useResource(
    `joined ${made?.name ?? ''}`,
    (signal) => client.call('getWorker', { params: { name: made?.name ?? '' }, signal }),
    { enabled: made !== undefined, everyMs: 3_000, on: ({ kind }) => kind === 'registered' },
  );
  if (made !== undefined) {
    const here = (joined.data?.workers ?? 0) > 0;
    return (
      <FormDialog
        title={`${made.name} may join`}
        submit={here ? 'Done' : 'I have it'}
        onClose={onClose}
        act={async () => undefined}
      >
        <div className="once">
          <p className="strong row">
            <Icon name="key" size={14} /> Shown this once
          </p>
          <p>On the other machine, with the address of a node that it can reach:</p>
          <Command text={made.join} />
          <p className="ink-2">
            {made.code === undefined
              ? 'It contains the secret of the worker: whoever has it can take its tasks.'
              : 'The code is good once, for ten minutes.'}
          </p>
        </div>
        <p role="status">
          {here ? (
            <State state="online" label={`${made.name} has joined`} />
          ) : (
            <State state="starting" label="Waiting for it to come" />
          )}
        </p>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title="Create a worker"
      submit="Create it"
      disabled={name.trim() === '' || (priority !== '' && !/^-?\d+$/.test(priority))}
      onClose={onClose}
      act={async () => {
        setMade(
          await client.call('createWorker', {
            body: {
              name: name.trim(),
              tags: tags
                .split(',')
                .map((tag) => tag.trim())
                .filter((tag) => tag !== ''),
              ...(priority === '' ? {} : { priority: Number(priority) }),
              code: true,
            },
          }),
        );
        return false;
      }}
    >
      <p className="ink-2">
        Room for a worker on another machine. You get one command for that machine, with a code that is good once.
      </p>
      <Field label="Name" hint="What lists and leases call it: gpu-box">
        {(props) => (
          <input
            {...props}
            className="input"
            value={name}
            onChange={(event) => setName(event.target.value)}
            autoComplete="off"
          />
        )}
      </Field>
      <Field label="Tags" hint="What it may carry, with commas; it can say less of itself, never more">
        {(props) => (
          <input
            {...props}
            className="input"
            value={tags}
            onChange={(event) => setTags(event.target.value)}
            placeholder="gpu, gpu=nvidia"
            autoComplete="off"
          />
        )}
      </Field>
      <Field label="Priority" hint="Higher ones are given work first; default 0">
        {(props) => (
          <input
            {...props}
            className="input short"
            inputMode="numeric"
            value={priority}
            onChange={(event) => setPriority(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

function WorkerDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const detail = useResource(`worker ${name}`, (signal) => client.call('getWorker', { params: { name }, signal }), {
    everyMs: 2_000,
  });
  const current = detail.data?.processes.flatMap(({ currentTasks }) => currentTasks).slice(0, 50) ?? [];
  const leases = useResource(
    `leases ${name} ${current.join()}`,
    (signal) =>
      current.length === 0
        ? Promise.resolve({ tasks: [] })
        : client.call('listTasks', { query: { id: current }, signal }),
    { everyMs: 3_000, on: (event) => event.task !== undefined && current.includes(event.task) },
  );
  const [asking, setAsking] = useState<'rotate' | 'remove'>();
  const changed = (): void => {
    detail.refresh();
    onChanged();
  };
  return (
    <Drawer title={name} onClose={() => go('/workers')}>
      <Awaited of={detail}>
        {(data) => {
          const row: Row = {
            worker: undefined,
            key: name,
            name,
            enabled: data.enabled,
            priority: data.priority ?? data.processes[0]?.priority,
            tags: data.workers > 0 ? data.carries : data.tags,
          };
          return (
            <>
              {may && (
                <div className="buttons">
                  {data.enabled ? (
                    <Button
                      small
                      icon="pause"
                      onClick={() =>
                        attempt(
                          () => edit(name, { enabled: false }).then(changed),
                          `${name} drains: it takes nothing more, and what it runs goes on.`,
                        )
                      }
                    >
                      Drain
                    </Button>
                  ) : (
                    <Button
                      small
                      icon="play"
                      kind="primary"
                      onClick={() =>
                        attempt(() => edit(name, { enabled: true }).then(changed), `${name} takes tasks again.`)
                      }
                    >
                      Take tasks again
                    </Button>
                  )}
                  <Button small icon="key" onClick={() => setAsking('rotate')}>
                    Rotate the secret
                  </Button>
                  <Button small icon="trash" kind="danger" onClick={() => setAsking('remove')}>
                    Remove
                  </Button>
                </div>
              )}
              {!data.enabled && (
                <State
                  state="draining"
                  label={
                    data.running > 0
                      ? `Draining: ${plural(data.running, 'task')} left`
                      : 'Drained: it runs nothing and takes nothing'
                  }
                />
              )}
              <Panel title="What it may do">
                <div className="panel-body">
                  <KeyValues
                    of={[
                      ['Priority', <Priority key="p" row={row} may={may} onChanged={changed} />],
                      ['Tags', <Tags key="t" row={row} may={may} onChanged={changed} />],
                      [
                        'Handlers',
                        <span key="h" className="tags">
                          {[
                            ...new Set(
                              data.processes
                                .filter(({ state }) => state === 'online')
                                .flatMap(({ handlers }) => handlers),
                            ),
                          ].map((handler) => (
                            <Link key={handler} to={`/tasks?handler=${encodeURIComponent(handler)}`} className="tag">
                              {handler}
                            </Link>
                          ))}
                        </span>,
                      ],
                    ]}
                  />
                </div>
              </Panel>
              <Panel title="Leases" count={current.length}>
                {current.length === 0 ? (
                  <div className="panel-body quiet">It runs nothing at present.</div>
                ) : (
                  <div className="table-wrap">
                    <table className="table">
                      <thead>
                        <tr>
                          <th>Task</th>
                          <th>Handler</th>
                          <th className="num">Ends in</th>
                        </tr>
                      </thead>
                      <tbody>
                        {leases.data?.tasks.map((task) => (
                          <tr key={task.id}>
                            <td>
                              <Link to={`/tasks/${segment(task.id)}`} className="link mono">
                                {shortId(task.id)}
                              </Link>
                            </td>
                            <td>{task.handler}</td>
                            <td className="num">
                              {task.leaseExpiresAt === undefined ? (
                                '–'
                              ) : (
                                <Countdown to={task.leaseExpiresAt} over="being renewed" />
                              )}
                            </td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                )}
              </Panel>
              {data.processes.slice(0, 5).map((one) => (
                <Panel key={one.id} title={`Process ${one.pid ?? ''}`} actions={<State state={one.state} />}>
                  <div className="panel-body">
                    <KeyValues
                      of={[
                        ['Address', one.address ?? '–'],
                        ['Host', one.host ?? '–'],
                        ['Version', one.version ?? '–'],
                        ['Slots', `${one.running} of ${one.slots} in use`],
                        ['Queues', one.queues === undefined ? 'all' : one.queues.join(', ')],
                        ['Started', one.startedAt === undefined ? '–' : <Time key="s" at={one.startedAt} />],
                        ['Last seen', <Time key="l" at={one.lastSeenAt} />],
                        ['Ended so far', one.totalTasks.toLocaleString('en')],
                      ]}
                    />
                  </div>
                </Panel>
              ))}
            </>
          );
        }}
      </Awaited>
      {asking === 'rotate' && <RotateDialog name={name} onClose={() => setAsking(undefined)} />}
      {asking === 'remove' && (
        <FormDialog
          title={`Remove ${name}`}
          submit="Remove the worker"
          danger
          onClose={() => setAsking(undefined)}
          act={() =>
            client.call('removeWorker', { params: { name } }).then(() => {
              onChanged();
              go('/workers');
            })
          }
        >
          <p>
            Its secrets end and what was said of its name is forgotten. It is cut off within a second; what it runs is
            given to others when its leases run out.
          </p>
        </FormDialog>
      )}
    </Drawer>
  );
}

function RotateDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const [grace, setGrace] = useState('1h');
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) {
    return (
      <FormDialog title={`The new secret of ${name}`} submit="I have it" onClose={onClose} act={async () => undefined}>
        <div className="once">
          <p className="strong">Shown this once</p>
          <Command text={secret} />
        </div>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title={`Rotate the secret of ${name}`}
      submit="Make another secret"
      onClose={onClose}
      act={async () => {
        setSecret(
          (
            await client.call('rotateWorker', {
              params: { name },
              body: { grace: grace.trim() === '' ? 0 : grace.trim() },
            })
          ).secret,
        );
        return false;
      }}
    >
      <Field label="Grace" hint="How long the old one is good besides; empty: not at all">
        {(props) => (
          <input {...props} className="input short" value={grace} onChange={(event) => setGrace(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
