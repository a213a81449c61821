/** What people wrote about something, as long as they like: it scrolls, and pushes nothing away. */
export function Description(props: { text: string | null | undefined }) {
  if (!props.text) return null;
  return (
    <p className="description" tabIndex={0}>
      {props.text}
    </p>
  );
}
