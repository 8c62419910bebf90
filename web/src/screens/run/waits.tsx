/** What a run waits for, with what somebody can do about it: decide, send a signal, raise a budget. */

import { useState } from 'react';
import { client, type RunDetail, type RunWait } from '../../api.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Field } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Countdown, Duration } from '../../ui/times.tsx';
import { showDone, showError } from '../../ui/toast.tsx';
import { DecideForm } from '../task/decide.tsx';

/** So many are shown at once: each has a form, and the facts of the run stand below them. */
const FEW = 3;

export function Waits({ of: run, onDone }: { readonly of: RunDetail; readonly onDone: () => void }) {
  const [all, setAll] = useState(false);
  if (run.waits.length === 0) return null;
  // What it says of its children is in the sentence above.
  const others = run.waits.length > FEW ? run.waits.filter(({ kind }) => kind !== 'children') : run.waits;
  const shown = all ? others : others.slice(0, FEW);
  return (
    <Panel title="Waits for" count={others.length}>
      <ul className="waits">
        {shown.map((wait) => (
          <li key={`${wait.task} ${wait.key}`} className="stack tight">
            <WaitFor wait={wait} onDone={onDone} />
            <p className="quiet">
              {wait.task !== run.id && (
                <>
                  <Link to={`/runs/${segment(wait.task)}`} className="link mono">
                    {shortId(wait.task)}
                  </Link>{' '}
                </>
              )}
              for <Duration from={wait.since} />
              {wait.deadline !== undefined && (
                <>
                  , at most <Countdown to={wait.deadline} over="now" /> more
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
      {shown.length < others.length && (
        <div className="panel-body">
          <Button onClick={() => setAll(true)}>Show {others.length - shown.length} more</Button>
        </div>
      )}
    </Panel>
  );
}

function WaitFor({ wait, onDone }: { readonly wait: RunWait; readonly onDone: () => void }) {
  switch (wait.kind) {
    case 'approval':
      return (
        <DecideForm
          id={wait.task}
          wait={wait.key}
          title={wait.title ?? 'A decision'}
          actions={wait.actions ?? ['approve', 'reject']}
          form={wait.form}
          onDone={onDone}
        />
      );
    case 'signal':
      return <SendSignal channel={wait.channel ?? wait.key} onDone={onDone} />;
    case 'children':
      return (
        <p>
          Its children: {wait.children?.ended ?? 0} of {wait.children?.all ?? 0} have ended.
        </p>
      );
    case 'budget':
      return <p>More budget. Raise it below, and the run goes on.</p>;
    case 'time':
      return <p>A time to come.</p>;
  }
}

function SendSignal({ channel, onDone }: { readonly channel: string; readonly onDone: () => void }) {
  const may = useMay('operator');
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const body = bodyOf(text);
  const send = (): void => {
    if (body === undefined) return;
    setBusy(true);
    client
      .call('sendSignal', { body: { channel, ...('value' in body ? { body: body.value } : {}) } })
      .then(() => {
        showDone(`The signal ${channel} is sent.`);
        setText('');
        onDone();
      }, showError)
      .finally(() => setBusy(false));
  };
  return (
    <>
      <p className="break">
        A signal on <code>{channel}</code>
      </p>
      {may ? (
        <form
          className="stack tight"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <Field label="Body (optional)" problem={body === undefined ? 'This is not JSON' : undefined}>
            {(props) => (
              <textarea
                {...props}
                className="input mono"
                rows={2}
                spellCheck={false}
                placeholder='{"ok": true}'
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
            )}
          </Field>
          <div className="buttons">
            <Button type="submit" kind="primary" busy={busy} disabled={body === undefined}>
              Send the signal
            </Button>
          </div>
        </form>
      ) : (
        <Command text={`npx leasehold signal ${channel}`} />
      )}
    </>
  );
}

/** Undefined: it is not JSON. Without a value: nothing was written. */
function bodyOf(text: string): { readonly value: unknown } | Record<never, never> | undefined {
  if (text.trim() === '') return {};
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
