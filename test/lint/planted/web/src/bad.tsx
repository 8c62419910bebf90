import { engine } from '../../src/engine/good.ts'; // expect: no-restricted-imports
import { core } from '../../src/core/good.ts'; // expect: no-restricted-imports
import { protocol } from '../../src/protocol/good.ts'; // expect: no-restricted-imports
import { self } from 'leasehold'; // expect: no-restricted-imports
import { sep } from 'node:path'; // expect: no-restricted-imports

declare const document: { body: { innerHTML: string; insertAdjacentHTML: (where: string, html: string) => void } };

export function Bad({ html }: { readonly html: string }) {
  document.body.innerHTML = html; // expect: no-restricted-properties
  document.body.insertAdjacentHTML('beforeend', html); // expect: no-restricted-properties
  eval(html); // expect: no-eval
  return <div dangerouslySetInnerHTML={{ __html: html }} title={String([engine, core, protocol, self, sep])} />; // expect: no-danger
}
