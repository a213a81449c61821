import { useTexts } from "@/texts/language";

export function SubmitPage() {
  const { frame } = useTexts();
  return (
    <div className="page narrow">
      <div className="page-head">
        <h1>{frame.submit}</h1>
      </div>
    </div>
  );
}
