/** Dialogs and drawers. */

import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { Button } from './buttons.tsx';
import { ErrorNote } from './states.tsx';

/** A native dialog takes the focus, keeps it and gives it back. Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
  bare = false,
  kind = 'dialog',
}: {
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** The children have their own body and foot. */
  readonly bare?: boolean;
  readonly kind?: 'dialog' | 'dialog wide' | 'drawer';
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed while it is still in the page, or the browser does not give the focus back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // The focus goes to the first field, else to the title, never to the close button.
      const field =
        kind === 'drawer' ? null : dialog.querySelector<HTMLElement>('input:not([type="checkbox"]), textarea');
      (field ?? dialog.querySelector('h2'))?.focus();
    }
    return () => dialog?.close();
  }, [kind]);
  return (
    <dialog
      ref={ref}
      className={kind}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="sheet">
        <header className="sheet-head">
          <h2 id={id} className="break" tabIndex={-1}>
            {title}
          </h2>
          <Button kind="plain" icon="close" aria-label="Close" onClick={onClose} />
        </header>
        {bare ? children : <div className="sheet-body">{children}</div>}
      </div>
    </dialog>
  );
}

export function Drawer(props: {
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  return <Dialog kind="drawer" {...props} />;
}

/** A dialog with one action. It closes when that is done, and stays open with the reason if it is refused. */
export function FormDialog({
  title,
  onClose,
  children,
  submit,
  act,
  danger = false,
  wide = false,
  disabled = false,
}: {
  readonly title: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** The text of the button names the action, never "OK". */
  readonly submit: string;
  /** A result of `false` keeps the dialog open. */
  readonly act: () => Promise<unknown>;
  readonly danger?: boolean;
  readonly wide?: boolean;
  readonly disabled?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = (event: FormEvent): void => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    act()
      .then((stay) => {
        setBusy(false);
        if (stay !== false) onClose();
      })
      .catch((thrown: unknown) => {
        setBusy(false);
        setError(thrown);
      });
  };
  return (
    <Dialog title={title} onClose={onClose} kind={wide ? 'dialog wide' : 'dialog'} bare>
      <form onSubmit={send} style={{ display: 'contents' }}>
        <div className="sheet-body">
          {children}
          {error !== undefined && <ErrorNote error={error} />}
        </div>
        <footer className="sheet-foot">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" kind={danger ? 'danger primary' : 'primary'} busy={busy} disabled={disabled}>
            {submit}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
