/** The dialog that fires a trigger by hand: the input as the form of its handler, or as JSON. */

import { useState } from 'react';
import { client, type Handler, type Trigger } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { jsonIn } from '../../model/json-text.ts';
import { actionText, outcomeText } from '../../model/trigger/words.ts';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { showDone, showError } from '../../ui/toast.tsx';
import { InputPanel } from '../push/input-panel.tsx';
import { plain } from '../push/push-draft.ts';
import { useTaskInput } from '../push/use-task-input.ts';
import { JsonField } from '../runs/start-fields.tsx';

interface FireProps {
  readonly of: Trigger;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function FireDialog(props: FireProps) {
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }), {
    enabled: props.of.push !== undefined,
  });
  if (props.of.push === undefined) return <FireByJson {...props} />;
  if (handlers.data === undefined) {
    return (
      <Dialog title={`Fire ${props.of.name}`} onClose={props.onClose} kind="dialog wide">
        <WhenLoaded of={handlers}>{() => null}</WhenLoaded>
      </Dialog>
    );
  }
  return <FireByForm {...props} handlers={handlers.data.handlers} />;
}

function FireByForm({ of, handlers, ...rest }: FireProps & { readonly handlers: readonly Handler[] }) {
  const { queue = '', handler = queue } = of.push as { readonly queue?: string; readonly handler?: string };
  const task = useTaskInput(handlers, { handler, queue, input: plain(of.input) });
  return (
    <FireFrame
      {...rest}
      of={of}
      input={() => {
        const { input, problems } = task.read();
        task.setProblems(problems);
        return Object.keys(problems).length === 0 ? { input } : undefined;
      }}
    >
      <InputPanel {...task.panel} />
    </FireFrame>
  );
}

function FireByJson(props: FireProps) {
  const [text, setText] = useState('');
  return (
    <FireFrame
      {...props}
      input={() => {
        const read = jsonIn(text);
        return read.ok ? (read.value === undefined ? {} : { input: read.value }) : undefined;
      }}
    >
      {props.of.check === undefined && <JsonField label="Input as JSON (optional)" text={text} onChange={setText} />}
    </FireFrame>
  );
}

function FireFrame({
  of,
  input,
  onClose,
  onDone,
  children,
}: FireProps & {
  /** Undefined: what is written is wrong, and says so at its field. */
  readonly input: () => { readonly input?: unknown } | undefined;
  readonly children: React.ReactNode;
}) {
  const { name, enabled } = of;
  return (
    <FormDialog
      title={`Fire ${name}`}
      submit="Fire the trigger"
      wide={of.check === undefined}
      onClose={onClose}
      act={async () => {
        const body = input();
        if (body === undefined) return false;
        const fired = await client.call('fireTrigger', { params: { name }, body: body as never });
        // What it has started stands in its deliveries, with a link.
        if (fired.outcome === 'failed' || fired.outcome === 'stopped') showError(outcomeText(fired));
        else showDone(`${name} has fired: ${outcomeText(fired)}.`);
        onDone();
        return true;
      }}
    >
      <p className="ink-2">
        It will {actionText(of)}
        {of.check === undefined && ', with this input over the one that it always gives'}.
        {!enabled && ' It is off, and by hand it fires all the same.'}
      </p>
      {children}
    </FormDialog>
  );
}
