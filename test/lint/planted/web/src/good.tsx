import { client } from '../../src/client/good.ts';

export function Good({ text }: { readonly text: string }) {
  return <div title={String(client)}>{text}</div>;
}
