import { type FormEvent, useEffect, useState } from 'react';
import { client, exactTask, type Handler } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { type Draft, draftOf, fieldsOf, valueOf } from '../../model/schema-form.ts';
import { isDuration } from '../../model/time.ts';
import { go, Link, segment, usePlace } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Awaited, Button, Empty, ErrorNote, Field, Notice, Page, Panel, plural, Segmented } from '../../ui/basic.tsx';
import { SchemaForm } from '../../ui/schema-form.tsx';
import { tellDone } from '../../ui/toast.tsx';
import { againLike, type PushDraft, takeHanded } from './push-draft.ts';

export default function Push() {
  const may = useMay('operator');
  const { query } = usePlace();
  const search = new URLSearchParams(query);
  const like = search.get('like');
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }), {
    on: ({ kind }) => kind === 'registered',
    atMostMs: 2_000,
  });
  const [start, setStart] = useState(() => takeHanded(like));
  // The address alone is enough: what is not handed over is looked up.
  useEffect(() => {
    if (like === null || start !== undefined) return;
    exactTask(like).then(
      (task) => {
        againLike(task);
        setStart(takeHanded(like));
      },
      () => {},
    );
  }, [like, start]);
  if (!may)
    return (
      <Page title="Push a task">
        <Empty icon="key" title="You may look, not push">
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
            ; that one stays as it is.
          </>
        )
      }
    >
      <Awaited of={handlers}>
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
      </Awaited>
    </Page>
  );
}

interface Options {
  readonly priority: string;
  readonly delay: string;
  readonly maxAttempts: string;
  readonly timeout: string;
  readonly unique: string;
  readonly requires: string;
  readonly limits: string;
}

function startingOptions(options: Readonly<Record<string, unknown>>): Options {
  const { priority, maxAttempts, placement, limits } = options as {
    priority?: number;
    maxAttempts?: number;
    placement?: { requires?: readonly string[] };
    limits?: readonly { name: string }[];
  };
  return {
    priority: priority === undefined ? '' : String(priority),
    delay: '',
    maxAttempts: maxAttempts === undefined ? '' : String(maxAttempts),
    timeout: '',
    unique: '',
    requires: placement?.requires?.join(', ') ?? '',
    limits: limits?.map(({ name }) => name).join(', ') ?? '',
  };
}

const words = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

function Form({
  handlers,
  start,
  wanted,
  queue: asked,
}: {
  readonly handlers: readonly Handler[];
  readonly start: PushDraft | undefined;
  readonly wanted: string;
  readonly queue: string;
}) {
  const first =
    start?.handler ??
    (wanted !== '' ? wanted : (handlers.find(({ name }) => name === 'echo')?.name ?? handlers[0]?.name ?? ''));
  const [handler, setHandler] = useState(first);
  const [queue, setQueue] = useState(start?.queue ?? asked);
  const info = handlers.find(({ name }) => name === handler);
  const fields = fieldsOf(info?.schema);
  const [mode, setMode] = useState<'form' | 'json'>(fields === undefined ? 'json' : 'form');
  const [written, setWritten] = useState(() =>
    fields === undefined ? { draft: {}, rest: {} } : draftOf(fields, start?.input),
  );
  const [json, setJson] = useState(() => JSON.stringify(start?.input ?? {}, undefined, 2));
  const [options, setOptions] = useState(() => startingOptions(start?.options ?? {}));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  const choose = (name: string): void => {
    setHandler(name);
    const next = fieldsOf(handlers.find((one) => one.name === name)?.schema);
    setMode(next === undefined ? 'json' : 'form');
    setWritten(next === undefined ? { draft: {}, rest: {} } : draftOf(next, undefined));
    setJson('{}');
    setProblems({});
  };
  const turn = (to: 'form' | 'json'): void => {
    if (fields !== undefined && to === 'json')
      setJson(JSON.stringify(valueOf(fields, written.draft, written.rest).value, undefined, 2));
    if (fields !== undefined && to === 'form') {
      try {
        setWritten(draftOf(fields, JSON.parse(json)));
      } catch {
        setProblems({ input: 'is not JSON: mend it before it becomes a form' });
        return;
      }
    }
    setProblems({});
    setMode(to);
  };
  const read = (): { readonly input: unknown; readonly problems: Record<string, string> } => {
    const wrong: Record<string, string> = {};
    if (handler.trim() === '') wrong.handler = 'is needed';
    for (const name of ['delay', 'timeout'] as const)
      if (options[name] !== '' && !isDuration(options[name])) wrong[name] = 'is written like 30s, 5m or 1h30m';
    for (const name of ['priority', 'maxAttempts'] as const)
      if (options[name] !== '' && !/^-?\d+$/.test(options[name])) wrong[name] = 'is a whole number';
    if (mode === 'form' && fields !== undefined) {
      const { value, problems: inner } = valueOf(fields, written.draft, written.rest);
      return { input: value, problems: { ...wrong, ...inner } };
    }
    try {
      return { input: JSON.parse(json), problems: wrong };
    } catch (thrown) {
      return { input: undefined, problems: { ...wrong, input: `is not JSON: ${(thrown as Error).message}` } };
    }
  };
  const send = (event: FormEvent): void => {
    event.preventDefault();
    const { input, problems: found } = read();
    setProblems(found);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    setError(undefined);
    const requires = words(options.requires);
    const kept = (start?.options ?? {}) as {
      placement?: object;
      limits?: readonly { name: string }[];
      fairness?: { key: string };
    };
    const limits = words(options.limits).map((name) => kept.limits?.find((limit) => limit.name === name) ?? name);
    const placement = { ...kept.placement, ...(requires.length > 0 ? { requires } : {}) };
    client
      .call('pushTasks', {
        body: {
          queue: queue.trim() === '' ? handler : queue.trim(),
          handler,
          input,
          ...(options.priority === '' ? {} : { priority: Number(options.priority) }),
          ...(options.maxAttempts === '' ? {} : { maxAttempts: Number(options.maxAttempts) }),
          ...(options.delay === '' ? {} : { delay: options.delay.trim() }),
          ...(options.timeout === '' ? {} : { timeout: options.timeout.trim() }),
          ...(options.unique === '' ? {} : { unique: options.unique }),
          ...(Object.keys(placement).length === 0 ? {} : { placement }),
          ...(limits.length === 0 ? {} : { limits }),
          ...(kept.fairness === undefined ? {} : { fairness: kept.fairness }),
        },
      })
      .then((answer) => {
        if (!('id' in answer)) return;
        tellDone(answer.fresh ? 'The task is on disk.' : 'Its unique key led to a task that was there before.');
        go(`/tasks/${segment(answer.id)}`);
      })
      .catch((thrown: unknown) => {
        setBusy(false);
        setError(thrown);
      });
  };
  const option = (name: keyof Options, label: string, hint: string, placeholder = '') => (
    <Field label={label} hint={hint} problem={problems[name]}>
      {(props) => (
        <input
          {...props}
          className="input"
          placeholder={placeholder}
          value={options[name]}
          onChange={(event) => setOptions({ ...options, [name]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <form className="two-panes" onSubmit={send}>
      <div className="stack">
        <Panel>
          <div className="panel-body fields two">
            <Field
              label="Handler"
              problem={problems.handler}
              hint={
                info === undefined
                  ? handler === ''
                    ? 'What performs the task'
                    : 'No worker offers it at present: it waits for one that does.'
                  : `${plural(info.workers, 'worker')} ${info.workers === 1 ? 'offers' : 'offer'} it`
              }
            >
              {(props) => (
                <>
                  <input
                    {...props}
                    className="input"
                    list="handlers"
                    value={handler}
                    onChange={(event) => choose(event.target.value)}
                    autoComplete="off"
                    spellCheck={false}
                  />
                  <datalist id="handlers">
                    {handlers.map(({ name }) => (
                      <option key={name} value={name} />
                    ))}
                  </datalist>
                </>
              )}
            </Field>
            <Field label="Queue" hint="Empty: the name of the handler">
              {(props) => (
                <>
                  <input
                    {...props}
                    className="input"
                    list="queues"
                    value={queue}
                    placeholder={handler}
                    onChange={(event) => setQueue(event.target.value)}
                    autoComplete="off"
                    spellCheck={false}
                  />
                  <datalist id="queues">
                    {info?.queues.map((name) => (
                      <option key={name} value={name} />
                    ))}
                  </datalist>
                </>
              )}
            </Field>
          </div>
        </Panel>
        <Panel
          title="Input"
          actions={
            fields === undefined ? (
              <span className="quiet">JSON</span>
            ) : (
              <Segmented
                label="How the input is written"
                options={[
                  { value: 'form', label: 'Form' },
                  { value: 'json', label: 'JSON' },
                ]}
                value={mode}
                onChange={turn}
              />
            )
          }
        >
          <div className="panel-body stack">
            {mode === 'form' && fields !== undefined ? (
              <>
                <SchemaForm
                  fields={fields}
                  draft={written.draft}
                  problems={problems}
                  onChange={(draft: Draft) => setWritten({ ...written, draft })}
                />
                {Object.keys(written.rest).length > 0 && (
                  <p className="quiet">Also given, and kept: {Object.keys(written.rest).join(', ')}</p>
                )}
              </>
            ) : (
              <Field
                label="Input as JSON"
                problem={problems.input}
                hint={
                  fields === undefined && info !== undefined
                    ? 'This handler does not say which form its input has.'
                    : undefined
                }
              >
                {(props) => (
                  <textarea
                    {...props}
                    className="input mono"
                    rows={8}
                    spellCheck={false}
                    value={json}
                    onChange={(event) => setJson(event.target.value)}
                  />
                )}
              </Field>
            )}
          </div>
        </Panel>
        {error !== undefined && <ErrorNote error={error} />}
        {handlers.length === 0 && (
          <Notice>No worker is there yet. What is pushed waits, and is run as soon as one comes.</Notice>
        )}
        <div className="buttons">
          <Button type="submit" kind="primary" icon="push" busy={busy}>
            Push the task
          </Button>
        </div>
      </div>
      <aside>
        <Panel title="Options">
          <div className="panel-body fields">
            {option('priority', 'Priority', 'Higher ones go first; default 0')}
            {option('delay', 'Not before', 'How long it waits first', '10m')}
            {option('maxAttempts', 'Tries', 'How often it is tried; default 3')}
            {option('timeout', 'Time for one attempt', 'Then it is stopped', '1h')}
            {option('unique', 'Unique key', 'A second push with it leads to the same task')}
            {option('requires', 'Tags it needs', 'With commas', 'gpu, memory_gb>=16')}
            {option('limits', 'Limits it takes from', 'With commas', 'claude')}
          </div>
        </Panel>
      </aside>
    </form>
  );
}
