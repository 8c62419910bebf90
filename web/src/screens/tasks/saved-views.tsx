/** Saved views: filters under a name. The node keeps them, so that everybody has them. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Menu } from '../../ui/menu.tsx';
import { runAction } from '../../ui/toast.tsx';

export function SavedViews({
  screen,
  query,
  onOpen,
}: {
  readonly screen: string;
  readonly query: string;
  readonly onOpen: (query: string) => void;
}) {
  const may = useMay('operator');
  const views = useResource('views', (signal) => client.call('listViews', { signal }));
  const [saving, setSaving] = useState(false);
  const [name, setName] = useState('');
  const mine = views.data?.views.filter((view) => view.screen === screen) ?? [];
  if (!may && mine.length === 0) return null;
  return (
    <>
      <Menu label="Saved views" icon="bookmark" text="Views">
        {(close) => (
          <>
            {mine.length === 0 && (
              <p className="quiet" style={{ padding: '6px 8px' }}>
                No saved views. A view keeps a filter under a name, for everybody.
              </p>
            )}
            {mine.map((view) => (
              <div key={view.name} className="row">
                <button
                  type="button"
                  className="menu-item"
                  title={view.query}
                  onClick={() => {
                    onOpen(view.query);
                    close();
                  }}
                >
                  <span className="grow cut">{view.name}</span>
                  {view.query === query && <Icon name="check" size={14} />}
                </button>
                {may && (
                  <Button
                    kind="plain"
                    small
                    icon="trash"
                    aria-label={`Delete the view ${view.name}`}
                    onClick={() =>
                      runAction(
                        () => client.call('removeView', { params: { name: view.name } }).then(views.refresh),
                        `Deleted the view ${view.name}.`,
                      )
                    }
                  />
                )}
              </div>
            ))}
            {may && (
              <>
                <hr />
                <button
                  type="button"
                  className="menu-item"
                  disabled={query === ''}
                  onClick={() => {
                    close();
                    setSaving(true);
                  }}
                >
                  <Icon name="plus" size={14} />
                  {query === '' ? 'Set a filter to save it' : 'Save this filter …'}
                </button>
              </>
            )}
          </>
        )}
      </Menu>
      {saving && (
        <FormDialog
          title="Save this view"
          submit="Save the view"
          disabled={name.trim() === ''}
          onClose={() => setSaving(false)}
          act={() => client.call('saveView', { body: { name: name.trim(), screen, query } }).then(views.refresh)}
        >
          <pre className="code">{decodeURIComponent(query).replaceAll('&', '\n')}</pre>
          <Field label="Name" hint="A view of this name is replaced.">
            {(props) => (
              <input
                {...props}
                className="input"
                maxLength={100}
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
        </FormDialog>
      )}
    </>
  );
}
